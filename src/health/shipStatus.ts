export const SHIP_STATES = ['off', 'connecting', 'current', 'behind', 'fenced', 'refused'] as const;
export type ShipState = (typeof SHIP_STATES)[number];

/** `ship` in `courtd status --json`; null means unknown. */
export interface ShipStatus {
  readonly box: string | null;
  readonly epoch: string | null;
  /** Without anything secret. */
  readonly url: string | null;
  readonly state: ShipState;
  /** Headquarters has every event up to here. */
  readonly shipped_seq: number | null;
  readonly newest_seq: number | null;
  readonly behind_events: number | null;
  /** Since the oldest event that is not shipped was received. */
  readonly behind_s: number | null;
  readonly last_ack_at: string | null;
  readonly error: string | null;
}

/** How far shipping has got, by the latest report and the current database. */
export interface ShipView extends ShipStatus {
  readonly running: boolean;
  /** Whether events are to be shipped from here: a URL is set, or a shipper has run. */
  readonly isSetUp: boolean;
}

/** @returns the members that JSON output has. */
export function shipStatusOf({ running: _running, isSetUp: _isSetUp, ...status }: ShipView): ShipStatus {
  return status;
}
