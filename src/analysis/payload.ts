import { JsonReader } from '../protocol/jsonReader.ts';
import { readPayload } from '../protocol/sentEvent.ts';

/** The payload fields that the report uses; a field of the wrong type counts as not sent. */
export interface Payload {
  readonly x: number | undefined;
  readonly y: number | undefined;
  readonly isIn: boolean | undefined;
  readonly kmh: number | undefined;
  readonly playerId: string | undefined;
  readonly shotType: string | undefined;
}

/** UTF-16 code units that are kept of a name in a payload, which may be as long as a body. */
const NAME_CHARS = 256;

/** @returns undefined where the text is damaged in the database. */
export function payloadOf(json: string): Payload | undefined {
  try {
    const { x_ft, y_ft, is_in, kmh, player_id, shot_type } = readPayload(new JsonReader(json));
    return {
      x: numberOf(x_ft),
      y: numberOf(y_ft),
      isIn: typeof is_in === 'boolean' ? is_in : undefined,
      kmh: numberOf(kmh),
      playerId: nameOf(player_id),
      shotType: nameOf(shot_type),
    };
  } catch {
    return undefined;
  }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, NAME_CHARS) : undefined;
}
