import type { ENVELOPE_FIELDS, PAYLOAD_FIELDS } from './event.ts';

/** What each field of an event means, for every document that lists them: `courtd export --describe`, `courtd openapi`, the vendor's guide. */

export interface Meaning {
  /** Absent where the value has none. */
  readonly unit?: 'ft' | 'km/h';
  readonly meaning: string;
}

export type Field = (typeof ENVELOPE_FIELDS)[number] | (typeof PAYLOAD_FIELDS)[number];

export const MEANINGS: Readonly<Record<Field, Meaning>> = {
  event_id: { meaning: 'names the event within its session; all its revisions have the same' },
  session_id: { meaning: 'the match or training session' },
  venue_id: { meaning: 'the venue' },
  court_id: { meaning: 'the court' },
  eot: { meaning: 'event occurrence time: when it happened, by the clock of its source' },
  type: { meaning: 'what happened: BALL_BOUNCE, BALL_HIT and so on' },
  confidence: { meaning: 'how sure the source is, from 0 to 1' },
  source: { meaning: 'the camera, or whatever else detected the event' },
  schema_version: { meaning: 'the version of the protocol that the source speaks' },
  revision: { meaning: '0 is preliminary; a higher one confirms or corrects the ones below it' },
  payload: { meaning: 'all that the source said, as a JSON object; what fits no column is only here' },
  x_ft: {
    unit: 'ft',
    meaning: 'where on the court, first coordinate, from the origin that the source has',
  },
  y_ft: {
    unit: 'ft',
    meaning: 'where on the court, second coordinate, from the origin that the source has',
  },
  is_in: { meaning: 'whether the ball was in: true or false' },
  kmh: { unit: 'km/h', meaning: 'speed of the ball' },
  player_id: { meaning: 'the player, by the name that the source uses' },
  shot_type: { meaning: 'the kind of shot, by the name that the source uses' },
  swing_type: { meaning: 'the kind of swing, by the name that the source uses' },
};
