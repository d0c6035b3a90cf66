import { gauge, gauges, type ValueFamily } from './family.ts';

/** How far shipping has come, as in `courtd ship status`. */
export interface ShipGauges {
  readonly state: string;
  readonly shipped_seq: number | null;
  readonly behind_events: number | null;
  readonly behind_s: number | null;
}

/** @param ship undefined where it could not be determined. */
export function shippingFamilies(ship: ShipGauges | undefined): ValueFamily[] {
  return [
    gauges(
      'courtd_ship_state',
      'Always 1: what shipping does is in the label.',
      ship === undefined ? [] : [{ labels: { state: ship.state }, value: 1 }],
    ),
    gauge('courtd_ship_shipped_seq', 'Headquarters has every event up to here.', ship?.shipped_seq ?? null),
    gauge('courtd_ship_behind_events', 'Events that wait to be shipped.', ship?.behind_events ?? null),
    gauge(
      'courtd_ship_behind_seconds',
      'Since the oldest event that waits to be shipped was received.',
      ship?.behind_s ?? null,
    ),
  ];
}
