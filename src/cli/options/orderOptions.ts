import { type Command, InvalidArgumentError, Option } from 'commander';
import { EOT_HELD_BYTES, EOT_WINDOW_MAX_MS, EOT_WINDOW_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { bytesFor } from '../../base/units.ts';
import { EotWindow, type HeldRoom } from '../../protocol/eotWindow.ts';
import { say } from '../terminal/output.ts';

/** The order in which `tail` and `fleet tail` show events. */
export interface OrderOptions {
  readonly order: 'arrival' | 'eot';
  /** In milliseconds. */
  readonly window?: number;
  readonly follow?: boolean;
}

export function addOrder(command: Command): Command {
  return command
    .addOption(
      new Option('--order <order>', 'as they arrived, or as they happened')
        .choices(['arrival', 'eot'])
        .default('arrival'),
    )
    .addOption(
      new Option(
        '--window <time>',
        `with --order eot and --follow: how long an event is held, in case one that happened before it still comes (default: ${EOT_WINDOW_MS}ms)`,
      ).argParser(parseWindow),
    );
}

/** Ends the command where the options contradict each other. */
export function refuseMisorder(command: Command): void {
  const { order, window } = command.opts<OrderOptions>();
  if (window === undefined || order === 'eot') return;
  command.error('error: --window goes with --order eot: the order of arrival holds no event.', {
    exitCode: 2,
  });
}

/** @returns milliseconds. */
function parseWindow(text: string): number {
  const match = /^(\d{1,9})(ms|s|m)$/.exec(text);
  const ms = match === null ? Number.NaN : Number(match[1]) * { ms: 1, s: 1_000, m: 60_000 }[match[2]!]!;
  if (ms <= EOT_WINDOW_MAX_MS) return ms;
  throw new InvalidArgumentError('Give a whole number with ms or s, from 0ms to 60s, such as 500ms.');
}

/** @returns what makes windows that share their memory. @param advice what to do where all of it cannot be sorted at once. */
export function eotWindows<Event>(
  { follow = false, window = EOT_WINDOW_MS }: OrderOptions,
  toLine: (event: Event, isLate: boolean) => string,
  advice: string,
): () => EotWindow<Event> {
  const room: HeldRoom = { free: EOT_HELD_BYTES, exceeded: follow ? tellOnce : () => refuse(advice) };
  return () => new EotWindow(follow ? window : Number.POSITIVE_INFINITY, toLine, room);
}

let hasTold = false;

function tellOnce(): void {
  if (hasTold) return;
  hasTold = true;
  say(
    `courtd: ${bytesFor(EOT_HELD_BYTES)} of events are within the window: while they are, the earliest leave before it has passed, ` +
      'and more may be late. Give a shorter --window.',
  );
}

function refuse(advice: string): never {
  throw new OperatorError(
    `At most ${bytesFor(EOT_HELD_BYTES)} of events can be sorted here, and these are more. ${advice}`,
  );
}
