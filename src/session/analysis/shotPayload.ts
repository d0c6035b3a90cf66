import { payloadColumns } from '../../protocol/payload.ts';

/** UTF-16 code units that are kept of a name in a payload, which may be as long as a body. */
export const NAME_CHARS = 256;

/** The payload fields that the report uses; each is undefined if its column in an export is empty. */
export type Payload = ReturnType<typeof payloadOf>;

/** @param json of the payload. @throws {JsonError} if it is damaged. */
export function payloadOf(json: string) {
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
