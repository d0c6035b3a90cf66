import { END_SIGNALS } from '../../src/base/signals.ts';

/** What a command changes in its process, which has run others and will run more. */

/** What a command listens to up to the end of its process. */
const TO_THE_END = [...END_SIGNALS, 'uncaughtException', 'unhandledRejection'] as const;

function listeners() {
  return TO_THE_END.flatMap((event) =>
    process.listeners(event).map((listener) => ({ event, listener: listener as () => void })),
  );
}

/** @returns a function that takes away what listens to the process since. */
export function endOfLife(): () => void {
  const before = new Set(listeners().map(({ listener }) => listener));
  return () => {
    for (const { event, listener } of listeners()) if (!before.has(listener)) process.off(event, listener);
  };
}

/** In place: Node follows a change of TZ only in the object that it has made. */
export function setEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  for (const [name, value] of Object.entries(environment))
    if (process.env[name] !== value) process.env[name] = value;
}
