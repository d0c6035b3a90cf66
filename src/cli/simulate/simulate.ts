import { OperatorError, UsageError } from '../../base/operatorError.ts';
import { abortOnSignal } from '../../base/signals.ts';
import { counted } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { type Pace, type RunCounts, type RunOptions, runVenue } from '../../vendor/simulate/run.ts';
import { sampleEvents } from '../../vendor/simulate/sampleEvents.ts';
import { Progress, printData, say } from '../terminal/output.ts';

interface SimulateOptions extends Omit<RunOptions, 'token'> {
  readonly token?: string;
  /** Seconds; without it, until a signal. */
  readonly for?: number;
  /** How many events to print instead of sending them. */
  readonly print?: number;
}

/** `courtd simulate`: a venue's cameras, until they are ended. @throws {OperatorError} where no event was stored. */
export async function simulate(options: SimulateOptions): Promise<void> {
  const { token, url } = options;
  if (options.print !== undefined) return printData(sampleEvents(options, options.print));
  if (token === undefined) throw new UsageError('There is no token: set the variable COURTD_TOKEN.');
  const ended = abortOnSignal(options.for && options.for * 1000);
  const progress = new Progress();
  const { counts, pace, session } = await runVenue({ ...options, token }, ended, {
    sent: (counts) => progress.show(() => sentence(counts())),
    problem: (source, problem) => say(`courtd: ${source}: ${visible(problem)}`),
  });
  progress.clear();
  printData(`${sentence(counts)}${paceText(pace)}; the first court is session ${session}\n`);
  if (counts.accepted + counts.duplicates === 0)
    throw new OperatorError(`No event was stored at ${url.origin}: check the address and the token.`);
}

function sentence({ requests, accepted, duplicates, refused, overflowed, waiting }: RunCounts): string {
  const lost = overflowed > 0 ? `, ${overflowed} lost because a buffer was full` : '';
  return (
    `${counted(requests, 'request')}: ${counted(accepted, 'event')} stored, ${counted(duplicates, 'duplicate')}, ` +
    `${refused} refused, ${waiting} not delivered${lost}`
  );
}

/** @returns a continuation of the summary. */
function paceText(pace: Pace | undefined): string {
  if (pace === undefined) return '';
  const { eventsPerS, seconds, medianUs, highUs } = pace;
  const ms = (us: number) => `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms`;
  return `; ${Math.round(eventsPerS)} events/s for ${seconds.toFixed(1)} s, answered in ${ms(medianUs)} (p50) and ${ms(highUs)} (p99)`;
}
