import type { Agent } from 'node:http';
import https from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { requestAnswer } from '../../base/httpAnswer.ts';
import { http } from '../../base/nodeHttp.ts';
import { UsageError } from '../../base/operatorError.ts';
import type { SecretFile } from '../../base/secretFile.ts';
import { eventOf } from '../../nats/chunk.ts';
import type { EventFeed } from '../feed/eventFeed.ts';
import { knownShipped } from '../feed/shipNote.ts';
import type { Chunk } from './chunk.ts';
import { connectionError } from './connectionError.ts';
import { type Sink, SinkError } from './sink.ts';
import type { Cursor } from './startCursor.ts';

/** Another courtd answers when the events are on its disk. */
const ANSWER_MS = 30_000;
/** For whoever sends a byte now and then. */
const LIMITS = { wholeMs: 2 * ANSWER_MS, chars: 256 * 1024 } as const;
/** Characters of an answer that are quoted: a report has a bound. */
const QUOTED_CHARS = 300;
/** No courtd asks for a longer rest. */
const RETRY_MAX_S = 300;
/** RFC 6750, section 2.1. */
const TOKEN = /^[\w.~+/-]+=*$/;

const gzip = promisify(zlib.gzip);

export interface CourtdTarget {
  /** Without a name and password. */
  readonly url: URL;
  /** As it stands in reports: a note counts only for the same one. */
  readonly name: string;
  readonly token: SecretFile;
  readonly ca: SecretFile;
}

interface Answer {
  readonly status: number;
  readonly retryMs: number;
  /** Of a problem; empty where the answer is none. */
  readonly sentence: string;
  /** Whether it names a fault of an event, as a courtd does; what stands in front of one may answer 400 to everything. */
  readonly isFault: boolean;
  /** How many events it says that it has. */
  readonly events: number;
}

/** Another courtd. It takes each event once, however often it is sent, so the cursor may be old: it is the box's note. */
export class CourtdSink implements Sink {
  readonly #target: CourtdTarget;
  readonly #feed: EventFeed;
  #agent: Agent | undefined;
  #cursor: Cursor | undefined;

  /** @throws {UsageError} without a token. */
  constructor(target: CourtdTarget, feed: EventFeed) {
    if (target.token.read() === undefined) {
      throw new UsageError(
        'Another courtd takes events only with its token: put that into a file, and name it with COURTD_SHIP_CREDS (or --creds).',
      );
    }
    this.#target = target;
    this.#feed = feed;
  }

  async readCursor(): Promise<Cursor> {
    const { epochs, report } = await this.#feed.state();
    const epoch = epochs.at(-1)!.name;
    if (this.#cursor?.epoch === epoch) return this.#cursor;
    const isSame = report?.url === this.#target.name;
    return { epoch, seq: (isSame ? knownShipped(report, epochs) : undefined) ?? 0, expected: 0 };
  }

  async send(chunk: Chunk, { epoch, expected }: Cursor): Promise<Cursor> {
    const answer = await this.#post(await gzip(`[${chunk.lines.map(eventOf).join(',')}]`));
    // A 202 of something else, such as a proxy, is no acknowledgement.
    if (answer.status !== 202 || answer.events !== chunk.lines.length) throw this.#errorOf(answer);
    this.#cursor = { epoch, seq: chunk.last, expected };
    return this.#cursor;
  }

  async tellStatus(): Promise<void> {}

  isOpen(): boolean {
    return true;
  }

  async close(): Promise<void> {
    this.#agent?.destroy();
    this.#agent = undefined;
  }

  #errorOf({ status, sentence, isFault, retryMs }: Answer): SinkError {
    const where = this.#target.url.host;
    if ((status === 400 && isFault) || status === 413)
      return new SinkError('poison', `headquarters answers ${status}: ${sentence}`);
    if (status === 401 || status === 403) {
      return new SinkError(
        'refused',
        `Headquarters (${where}) does not accept the token of this box: put the current one where COURTD_SHIP_CREDS says, and restart ` +
          'the shipper ("sudo systemctl restart courtd-ship").',
      );
    }
    if (status === 429 || status >= 500) {
      return new SinkError(
        'waiting',
        `Headquarters (${where}) takes no events now (${status}): ${sentence} The box keeps them.`,
        retryMs,
      );
    }
    return new SinkError(
      'refused',
      `What answers at ${where} is not courtd (${status}): correct COURTD_SHIP_URL.`,
      retryMs,
    );
  }

  async #post(body: Buffer): Promise<Answer> {
    const { url } = this.#target;
    const token = this.#target.token.read()?.toString('utf8').trim() ?? '';
    if (!TOKEN.test(token)) {
      throw new SinkError(
        'refused',
        `Headquarters (${url.host}) was not asked: what stands where the token of this box belongs, in the file of COURTD_SHIP_CREDS, is not a token. Put the current one there, alone.`,
      );
    }
    const headers = {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Content-Encoding': 'gzip',
      'Content-Length': body.length,
    };
    const place = new URL(`${url.pathname.replace(/\/(v1\/events\/?)?$/, '')}/v1/events`, url);
    const options = { method: 'POST', headers, agent: this.#connections(), timeout: ANSWER_MS };
    const answer = await requestAnswer({ ...urlToHttpOptions(place), ...options }, body, LIMITS).catch(
      (error) => {
        throw connectionError(error, url.host);
      },
    );
    const retryS = Math.min(Number(answer.headers['retry-after']) || 0, RETRY_MAX_S);
    return { status: answer.status, retryMs: 1_000 * retryS, ...read(answer.body, token) };
  }

  #connections(): Agent {
    this.#agent ??=
      this.#target.url.protocol === 'https:'
        ? new https.Agent({ keepAlive: true, ca: this.#target.ca.read() })
        : new http.Agent({ keepAlive: true });
    return this.#agent;
  }
}

/** @returns the sentence of a problem, with the first fault that it names and without the token, or the count of an acknowledgement. */
function read(text: string, token: string): Pick<Answer, 'sentence' | 'isFault' | 'events'> {
  try {
    const { type, accepted, duplicates, error, details, invalid } = JSON.parse(text);
    const issue = details?.[0] ?? invalid?.[0]?.issues?.[0];
    const isFault = issue !== undefined || /^urn:courtd:problem:/.test(type);
    const sentence = [error, issue && `${issue.path} ${issue.message}.`].filter(Boolean).join(' ');
    const quoted = sentence.replaceAll(token, '(token removed)').slice(0, QUOTED_CHARS);
    return { sentence: quoted, isFault, events: accepted + duplicates };
  } catch {
    return { sentence: '', isFault: false, events: Number.NaN };
  }
}
