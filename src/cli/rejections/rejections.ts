import type { DataDirectory } from '../../base/dataDirectory.ts';
import { REJECTIONS_KEPT } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { counted, isoTime } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { askDaemon, DaemonHangs } from '../../control/controlClient.ts';
import {
  REJECTION_PATH,
  REJECTIONS_PATH,
  type RejectionReport,
  reportOf,
  type WholeRejection,
  wholeOf,
} from '../../control/rejectionRoutes.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { withRefused } from '../../store/rejections/refusedBodies.ts';
import type { RefusedBody } from '../../store/rejections/refusedBody.ts';
import { type Rejection, readRejections } from '../../store/rejections/storedRejections.ts';
import { type JsonOption, printData, printJson, printPairs, printText, say } from '../terminal/output.ts';

interface RejectionsOptions extends DataOption, JsonOption {
  readonly last: number;
}

/** `courtd rejections`: the last refused requests, newest first. */
export async function list({ data, json, last }: RejectionsOptions): Promise<void> {
  const stored = await readStored(data);
  const asked = await ask<RejectionReport[]>(data, `${REJECTIONS_PATH}?last=${last}`);
  const found = asked ?? stored.slice(0, last).map(reportOf);
  if (json) return printJson(found);
  if (found.length === 0) return say('No request was refused.');
  printText(found.map(linesOf).join(''));
  if (found.length === last && last < REJECTIONS_KEPT)
    say(`There may be more: "courtd rejections --last ${REJECTIONS_KEPT}".`);
}

/** Two lines, which fit a small screen: what and who, then why. */
function linesOf({ id, at, client, status, code, source, court_id, events, error }: RejectionReport): string {
  const camera = source === null ? '' : `  ${source} on ${court_id ?? '?'}`;
  const many = events === null ? '' : `  ${counted(events, 'event')}`;
  const what = `${at}  ${id}  ${status} ${code}  ${client}${camera}${many}`;
  return `${visible(what)}\n    ${visible(error)}\n`;
}

/** `courtd rejections show ID`: one of them, with its body. */
export async function show(id: string, { data, json }: DataOption & JsonOption): Promise<void> {
  const stored = await readStored(data);
  const asked = await ask<WholeRejection | null>(
    data,
    `${REJECTION_PATH}?${new URLSearchParams({ id }).toString()}`,
  );
  const kept = stored.find((one) => one.id === id);
  const refused = await withRefused(data, (bodies) => bodies.find(id));
  const found = (asked === undefined ? kept && wholeOf(kept) : asked) ?? (refused && unlisted(refused));
  if (found === undefined)
    throw new OperatorError(`There is no rejection ${JSON.stringify(id)}: "courtd rejections" shows them.`);
  const { body_base64: head, body_bytes: bytes, ...report } = found;
  const whole = refused?.bytes;
  const body = whole ?? (head === null ? null : Buffer.from(head, 'base64'));
  const body_bytes = whole?.length ?? bytes;
  const text = body === null ? null : textOf(body);
  if (json) {
    const isText = text !== null;
    return printJson({
      ...report,
      body: text,
      body_base64: isText ? null : (body?.toString('base64') ?? null),
      body_bytes,
    });
  }
  const { request_id: _same, ...shown } = report;
  printPairs(
    Object.entries({ ...shown, body: sizeOf(body, body_bytes) }).map(([name, value]) => [
      name,
      value === null ? '-' : String(value),
    ]),
  );
  if (body === null) return;
  printData('\n');
  printData(process.stdout.isTTY ? (text ?? body.toString('latin1')) : body);
  printData('\n');
}

type Unlisted = { readonly [Member in keyof WholeRejection]: WholeRejection[Member] | null };

/** The list is written once a minute, bodies at once: a `kill -9` may come in between. @returns what is known all the same. */
function unlisted({ requestId, receivedMs, code, sender }: RefusedBody): Unlisted {
  const at = isoTime(receivedMs);
  return {
    ...{ id: requestId, request_id: requestId, at, client: null, status: null, code, source: sender },
    ...{ court_id: null, events: null, error: null, body_base64: null, body_bytes: null },
  };
}

function sizeOf(body: Buffer | null, bodyBytes: number | null): string {
  if (bodyBytes === null) return 'not read';
  if (body === null) return `${counted(bodyBytes, 'byte')}, not kept: too many like it came within a second`;
  return body.length < bodyBytes
    ? `the first ${body.length} of ${counted(bodyBytes, 'byte')}`
    : counted(bodyBytes, 'byte');
}

/** @returns the text of a body, which may be cut within a character; null where it is not UTF-8. */
function textOf(body: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body, { stream: true });
  } catch {
    return null;
  }
}

/** Before asking the daemon: there may be no database, and this is where root becomes the owner of the directory. */
async function readStored(data: DataDirectory): Promise<Rejection[]> {
  return await withDatabase({ data }, (db) => readRejections(db).reverse());
}

/** @returns undefined where no daemon answers: the caller then shows what is stored. */
async function ask<Answer>(data: DataDirectory, path: string): Promise<Answer | undefined> {
  try {
    const answer = await askDaemon<Answer>(data, path);
    if (answer === undefined) say(`The daemon is not running: ${STORED}`);
    return answer;
  } catch (error) {
    if (!(error instanceof DaemonHangs)) throw error;
    say(`${error.message} ${STORED}`);
    return undefined;
  }
}

const STORED = 'these are the stored rejections.';
