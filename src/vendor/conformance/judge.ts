import type { Exchange, Recording } from './exchange.ts';
import { backsOff, batches, keepsConnections, waitsAsTold } from './pace.ts';
import {
  givesUpOn400,
  losesNothing,
  sameContent,
  sameEventId,
  splitsOn413,
  survives401,
  survivesRestart,
} from './resending.ts';
import { payloadTypes, raisesRevision, tokenNotInUrl, trueEot } from './sending.ts';
import { type Judgement, Traffic } from './traffic.ts';

/** In the order of the contract; the last one only where it was asked for. */
export const JUDGES = {
  same_event_id: sameEventId,
  same_content: sameContent,
  waits_as_told: waitsAsTold,
  backs_off: backsOff,
  batches,
  raises_revision: raisesRevision,
  true_eot: trueEot,
  token_not_in_url: tokenNotInUrl,
  gives_up_on_400: givesUpOn400,
  splits_on_413: splitsOn413,
  keeps_connections: keepsConnections,
  survives_401: survives401,
  payload_types: payloadTypes,
  loses_nothing: losesNothing,
  survives_restart: survivesRestart,
} as const satisfies Record<string, (traffic: Traffic) => Judgement>;

/** A request as the verdict shows it beside a check. */
export interface ShownRequest {
  readonly number: number;
  readonly connection: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Of its first event; null where it had none that could be read. */
  readonly source: string | null;
  readonly events: number;
  /** Null where there was no whole answer. */
  readonly status: number | null;
  readonly retry_after_s: number | null;
  readonly injected_fault: string | null;
}

export interface Check {
  readonly name: keyof typeof JUDGES;
  readonly verdict: Judgement['verdict'];
  readonly message: string;
  readonly requests: readonly ShownRequest[];
}

export interface Verdict {
  readonly certificate: boolean;
  readonly checks: readonly Check[];
}

const SHOWN_REQUESTS = 6;

/**
 * @param isRestarted whether the camera was to be switched off and on.
 * @returns how a camera did. Pure: the same recording gets the same verdict.
 */
export function judge(recording: Recording, isRestarted = false): Verdict {
  const traffic = new Traffic(recording);
  const asked = Object.entries(JUDGES).filter(([name]) => isRestarted || name !== 'survives_restart');
  const checks = asked.map(([name, check]): Check => {
    const { verdict, message, shownBy } = check(traffic);
    const requests = [...new Set(shownBy)].slice(0, SHOWN_REQUESTS).map(shown);
    return { name: name as Check['name'], verdict, message, requests };
  });
  return { certificate: checks.every(({ verdict }) => verdict === 'pass'), checks };
}

function shown({ number, connection, wallMs, events, status, toldS, fault }: Exchange): ShownRequest {
  return {
    number,
    connection,
    at: new Date(wallMs).toISOString(),
    source: events[0]?.source ?? null,
    events: events.length,
    status: status ?? null,
    retry_after_s: toldS ?? null,
    injected_fault: fault ?? null,
  };
}
