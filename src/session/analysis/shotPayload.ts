import { payloadColumns } from '../../protocol/payload.ts';

/** The payload fields that the report uses, as the columns of an export have them. */
export interface Payload {
  readonly x: number | undefined;
  readonly y: number | undefined;
  readonly isIn: boolean | undefined;
  readonly kmh: number | undefined;
  readonly playerId: string | undefined;
  readonly shotType: string | undefined;
}

/** UTF-16 code units that are kept of a name in a payload, which may be as long as a body. */
export const NAME_CHARS = 256;

export function payloadOf(json: string): Payload {
  const { x_ft, y_ft, is_in, kmh, player_id, shot_type } = payloadColumns(json);
  const finite = (value: number | undefined) => (Number.isFinite(value) ? value : undefined);
  const name = (value: string | undefined) => value?.slice(0, NAME_CHARS) || undefined;
  return {
    x: finite(x_ft),
    y: finite(y_ft),
    isIn: is_in,
    kmh: finite(kmh),
    playerId: name(player_id),
    shotType: name(shot_type),
  };
}
