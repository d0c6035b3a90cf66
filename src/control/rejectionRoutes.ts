import type { DataDirectory } from '../base/dataDirectory.ts';
import type { Rejection } from '../store/rejections/storedRejections.ts';
import { askDaemon } from './controlClient.ts';
import { answerJson, type ControlRoute } from './controlServer.ts';

/** A refused request, as `courtd rejections --json` prints it. */
export interface RejectionReport {
  readonly id: string;
  /** The same id, by the name that the answer to the client gave it. */
  readonly request_id: string;
  readonly at: string;
  readonly client: string;
  readonly status: number;
  readonly code: string;
  readonly source: string | null;
  readonly court_id: string | null;
  readonly events: number | null;
  readonly error: string;
}

/** The same, with what is kept of its body. */
export interface WholeRejection extends RejectionReport {
  /** The first bytes of its body, as base64; null where it was not read, or is not kept. */
  readonly body_base64: string | null;
  /** Size of all that was read of the body. */
  readonly body_bytes: number | null;
}

export function reportOf(rejection: Rejection): RejectionReport {
  const { id, atMs, client, status, code, source, courtId, events, error } = rejection;
  const at = new Date(atMs).toISOString();
  return { id, request_id: id, at, client, status, code, source, court_id: courtId, events, error };
}

export function wholeOf(rejection: Rejection): WholeRejection {
  const { body, bodyBytes } = rejection;
  return {
    ...reportOf(rejection),
    body_base64: body?.toString('base64') ?? null,
    body_bytes: bodyBytes,
  };
}

const FLUSH_REFUSED_PATH = '/v1/rejections/flush';
/** How long it may take to write what waits in memory, beside a busy disk. */
const FLUSH_MS = 30_000;

/** Has a daemon that runs put on disk what was refused just now. @throws {OperatorError} if it runs and does not do that. */
export async function flushRefused(data: DataDirectory): Promise<void> {
  await askDaemon(data, FLUSH_REFUSED_PATH, FLUSH_MS, 'POST');
}

/** `POST /v1/rejections/flush`: answers when what was refused so far is on disk. */
export function flushRoute(flush: () => Promise<void>): ControlRoute {
  return {
    method: 'POST',
    path: FLUSH_REFUSED_PATH,
    answer: async (_req, res) => {
      await flush();
      answerJson(res, {});
    },
  };
}
