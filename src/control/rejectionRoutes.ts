import type { DataDirectory } from '../base/dataDirectory.ts';
import { REJECTIONS_KEPT } from '../base/limits.ts';
import type { RefusedKeeper } from '../store/rejections/refusedKeeper.ts';
import type { Rejection } from '../store/rejections/storedRejections.ts';
import type { Age } from '../store/retention/ageRule.ts';
import type { RefusalBook } from '../telemetry/refusalBook.ts';
import { askDaemon } from './controlClient.ts';
import { answerJson, bodyOf, type ControlRoute, jsonRoute } from './controlServer.ts';

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

export const REJECTIONS_PATH = '/v1/rejections';
export const REJECTION_PATH = '/v1/rejections/show';
export const DROP_REJECTIONS_PATH = '/v1/rejections/drop';
const FLUSH_REFUSED_PATH = '/v1/rejections/flush';
const AGE_BYTES = 1_024;
/** How long it may take to write what waits in memory, beside a busy disk. */
const FLUSH_MS = 30_000;

/** Has the daemon put on disk what was refused within the last second. @throws {OperatorError} where it runs and does not do that. */
export async function flushRefused(data: DataDirectory): Promise<void> {
  await askDaemon(data, FLUSH_REFUSED_PATH, FLUSH_MS, 'POST');
}

/**
 * `GET /v1/rejections?last=N`, the newest first; `GET /v1/rejections/show?id=ID`: null where there is none;
 * `POST /v1/rejections/flush`: answers when the bodies that were refused so far are on disk; `POST /v1/rejections/drop` with an age:
 * takes them off the list.
 */
export function rejectionRoutes(
  rejections: Pick<RefusalBook, 'newest' | 'find' | 'forget'>,
  bodies: Pick<RefusedKeeper, 'flushed'>,
): ControlRoute[] {
  return [
    {
      method: 'POST',
      path: FLUSH_REFUSED_PATH,
      answer: async (_req, res) => {
        await bodies.flushed();
        answerJson(res, {});
      },
    },
    {
      method: 'POST',
      path: DROP_REJECTIONS_PATH,
      answer: async (req, res) => {
        const body = await bodyOf(req, AGE_BYTES);
        if (body === undefined) return;
        const age: Age = JSON.parse(body);
        await bodies.flushed();
        answerJson(res, { dropped: rejections.forget(age) });
      },
    },
    jsonRoute(REJECTIONS_PATH, (query) =>
      rejections.newest(Number(query.get('last') ?? REJECTIONS_KEPT)).map(reportOf),
    ),
    jsonRoute(REJECTION_PATH, (query) => {
      const found = rejections.find(query.get('id') ?? '');
      return found === undefined ? null : wholeOf(found);
    }),
  ];
}
