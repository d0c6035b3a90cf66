const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `work` when the process exits or a signal ends it. @returns a function that cancels that. */
export function cleanUpOnExit(work: () => void): () => void {
  const cleanUp = () => {
    try {
      work();
    } catch {
      // For example a directory that this user may not write to: the failure itself has already been reported.
    }
  };
  const stop = (signal: NodeJS.Signals) => {
    cleanUp();
    // The handler is gone by now, so the signal ends the process, as its sender expects.
    process.kill(process.pid, signal);
  };
  process.once('exit', cleanUp);
  for (const signal of END_SIGNALS) process.once(signal, stop);
  return () => {
    process.off('exit', cleanUp);
    for (const signal of END_SIGNALS) process.off(signal, stop);
  };
}
