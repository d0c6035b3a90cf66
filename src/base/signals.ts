export const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * From now on no signal ends the process by itself.
 * @param withinMs aborts after this time at the latest, with the reason 'time'.
 * @returns a signal that aborts with the first of END_SIGNALS, whose name is the reason.
 */
export function abortOnSignal(withinMs?: number): AbortSignal {
  const end = new AbortController();
  for (const signal of END_SIGNALS) process.on(signal, () => end.abort(signal));
  if (withinMs !== undefined) setTimeout(() => end.abort('time'), withinMs).unref();
  return end.signal;
}

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
