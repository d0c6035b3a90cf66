const ends = new Set<() => unknown>();
// Before whatever else ends with this process: a disk, for one, is unmounted after the daemon that is on it has been killed.
process.prependOnceListener('exit', () => {
  for (const end of ends) end();
});

/** In the place of a test, for what a script starts: it never outlives the script. */
export const untilExit = {
  teardown(end: () => unknown): void {
    ends.add(end);
  },
};
