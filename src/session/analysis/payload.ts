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

/** @returns undefined where the text is damaged in the database. */
export function payloadOf(json: string): Payload | undefined {
  try {
    const { x_ft, y_ft, is_in, kmh, player_id, shot_type } = payloadColumns(json);
    return {
      x: numberOf(x_ft),
      y: numberOf(y_ft),
      isIn: is_in,
      kmh: numberOf(kmh),
      playerId: nameOf(player_id),
      shotType: nameOf(shot_type),
    };
  } catch {
    return undefined;
  }
}

function numberOf(value: number | undefined): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

function nameOf(value: string | undefined): string | undefined {
  return value?.slice(0, NAME_CHARS) || undefined;
}
