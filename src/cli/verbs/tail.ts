import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { FOLLOW_POLL_MS, READ_CHUNK_ROWS } from '../../base/limits.ts';
import { visible } from '../../base/visibleText.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { playersSetting } from '../../fleet/ship/settings.ts';
import { type Arrival, arrivalToJson } from '../../protocol/courtEvent.ts';
import { eotToNs } from '../../protocol/eot.ts';
import type { DataOption } from '../../store/db/openDatabase.ts';
import { ArrivalLog, type Arrivals, mayPass } from '../../store/read/arrivalLog.ts';
import { integer, json, ofType } from '../options/optionParsers.ts';
import { type JsonOption, say, stdoutSink } from '../terminal/output.ts';
import { EotWindow, type Left } from './eotWindow.ts';

const HELP = `
With --order eot courtd holds each event for 500 ms and sorts them. An event
that happened before what was printed comes at once, marked as late.

Examples:
  courtd tail --follow --court court-2
  courtd tail --json --follow --after 123456 >> events.ndjson`;

export function define(command: Command): void {
  const after = new Option('--after <seq>', 'every event behind this one; 0: all (default: the newest 10)');
  const order = new Option('--order <order>', 'the order of the events').choices(['arrival', 'eot']);
  command
    .option('--follow', 'continue with the events that arrive')
    // A shipper gives the seq on standard input, once it knows it.
    .addOption(after.argParser((text) => (text === '-' ? text : integer(0, Number.MAX_SAFE_INTEGER)(text))))
    .addOption(order.default('arrival'))
    .option('--session <id>', 'only events of this session_id')
    .addOption(ofType())
    .option('--court <id>', 'only events of this court_id')
    .option('--source <name>', 'only events of this source')
    .addOption(json())
    .addHelpText('after', HELP)
    .action((_options, command) => tail(command.optsWithGlobals()));
}

interface TailOptions extends DataOption, JsonOption {
  /** A seq; absent: the newest NEWEST_SHOWN events; `-`: serveLog, for a shipper. */
  readonly after?: number | '-';
  readonly follow?: boolean;
  readonly order: 'arrival' | 'eot';
  readonly session?: string;
  readonly type?: string;
  readonly court?: string;
  readonly source?: string;
}

const NEWEST_SHOWN = 10;

/** `courtd tail`: ends when it has given what was stored when it began, or never. */
async function tail(options: TailOptions): Promise<void> {
  if (options.follow) yieldToIngest();
  const { after, session, type, court, source } = options;
  if (after === '-') return tailForShipper(options.data);
  const log = new ArrivalLog(options.data, { sessionId: session, type, courtId: court, source });
  const { write } = stdoutSink();
  const toLine = options.json ? arrivalToJson : lineForPeople(options.order);
  const window = options.order === 'eot' ? new EotWindow<Arrival>() : undefined;
  const print = (left: readonly Left<Arrival>[] = []) =>
    left.length === 0 ? undefined : write(left.map(({ event, isLate }) => toLine(event, isLate)).join(''));
  const patiently = patience(options.follow === true);
  let seq = after ?? (await patiently(() => log.beforeNewest(NEWEST_SHOWN)));
  let end: number | undefined;
  let hasShown = false;
  for (;;) {
    const arrivals = await patiently(() => log.after(seq, READ_CHUNK_ROWS));
    if (end === undefined) tellBeyond(seq, arrivals);
    end ??= arrivals.lastSeq;
    tellRestored(seq, arrivals);
    seq = arrivals.upTo;
    await print(arrivals.events.flatMap((event) => window?.take(event) ?? { event, isLate: false }));
    // Signals are seen between the turns of the event loop.
    await setImmediate();
    if (arrivals.damage.isFound) {
      say(`courtd: ${arrivals.damage}`);
      process.exitCode = 1;
    }
    hasShown ||= arrivals.events.length > 0;
    if (!options.follow && (arrivals.isLast || seq >= end)) {
      await print(window?.due(Number.POSITIVE_INFINITY));
      // A program with a cursor often finds nothing new; a person may have misspelt a name.
      if (!hasShown && after === undefined) say('No event matched.');
      return;
    }
    if (!arrivals.isLast) continue;
    // While nothing new arrives, print the events that are held.
    for (; ; await print(window?.due(Date.now()))) {
      await sleep(FOLLOW_POLL_MS);
      if (log.mayHaveNew()) break;
    }
  }
}

/** Ends when its standard input does. */
async function tailForShipper(data: TailOptions['data']): Promise<void> {
  const { serveLog } = await import('../../fleet/ship/serveLog.ts');
  const { promise, resolve } = Promise.withResolvers<number>();
  let asked = '';
  process.stdin.setEncoding('utf8').on('data', (text: string) => {
    asked = `${asked}${text}`.slice(0, 100);
    if (/^\d{1,15}\n/.test(asked)) resolve(Number.parseInt(asked, 10));
  });
  for (const event of ['end', 'error', 'close']) process.stdin.once(event, () => process.exit());
  const { write } = stdoutSink();
  const onDamage = (sentence: string) => say(`courtd: ${sentence}`);
  const { signal } = new AbortController();
  const players = playersSetting(process.env);
  for await (const lines of serveLog(data, players, () => promise, onDamage, signal))
    await write(lines.join(''));
  process.exit();
}

/** Reports events that come again. */
function tellRestored(seq: number, { restored }: Arrivals): void {
  if (restored === undefined) return;
  say(
    restored >= seq
      ? 'courtd: A backup was restored, which has every event up to here.'
      : `courtd: A backup was restored, which has the events up to seq ${restored}. Those up to seq ${seq} that were printed here are gone; the same numbers belong to other events from now on.`,
  );
}

/** A cursor of another database, or of before a restore: numbers up to it will be given to events that nobody is shown. */
function tellBeyond(seq: number, { lastSeq }: Arrivals): void {
  if (seq <= lastSeq) return;
  say(
    `courtd: --after ${seq} is of another database, or of before a restore: the last event is seq ${lastSeq}. Use "--after ${lastSeq}" to see every event that comes.`,
  );
}

/** @returns what runs work that reads, and with --follow waits for a database that was there and is away. */
function patience(follows: boolean) {
  let hasRead = false;
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    for (let told = ''; ; await sleep(FOLLOW_POLL_MS)) {
      try {
        const result = await work();
        hasRead = true;
        if (told !== '') say('courtd: The database can be read again.');
        return result;
      } catch (error) {
        if (!(follows && hasRead && mayPass(error))) throw error;
        if (told !== error.message) say(`courtd: ${error.message} Waiting for it.`);
        told = error.message;
      }
    }
  };
}

/** Characters of a payload that a person is shown. */
const PAYLOAD_CHARS = 120;

/** For people: when it came, by the box's clock, or when it happened, and what it is. */
function lineForPeople(order: TailOptions['order']) {
  return (event: Arrival, isLate: boolean): string => {
    const { seq, courtId, source, type, sessionId, eventId, revision, confidence, payload } = event;
    const when = order === 'eot' ? eotTime(event.eot) : localTime(event.receivedMs);
    const short = payload.length <= PAYLOAD_CHARS ? payload : `${payload.slice(0, PAYLOAD_CHARS)}…`;
    const which = revision === 0 ? eventId : `${eventId} revision ${revision}`;
    // The most important first: the line may be longer than the screen of a phone.
    const parts = [isLate ? `${when}  late` : when, `#${seq}`, type, courtId, source, short, confidence];
    return `${visible([...parts, sessionId, which].join('  '))}\n`;
  };
}

/** YYYY-MM-DD hh:mm:ss, as Swedes write local time. */
const { format: localTime } = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });

/** @returns local time, to the millisecond. */
function eotTime(eot: string): string {
  const ms = Number(eotToNs(eot)! / 1_000_000n);
  return `${localTime(ms)}.${new Date(ms).toISOString().slice(-4, -1)}`;
}
