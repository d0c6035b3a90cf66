/**
 * What the protocol defines of an event (spec 2.1 and 2.2), in one table: the schema, the readers, the columns of every export,
 * the report, `export --describe`, OpenAPI and the simulator come from it, and the documents are held against it.
 * Members that it does not name are kept as sent.
 */

export interface Member {
  /** Absent if the value has none. */
  readonly unit?: 'ft' | 'km/h';
  readonly meaning: string;
}

/** A known field of a payload. Null is as absent, and a value of another kind is odd. */
interface PayloadMember extends Member {
  readonly kind: 'number' | 'boolean' | 'string';
  /** For the requests that the OpenAPI document shows. */
  readonly example: number | boolean | string;
}

export interface TypeEntry {
  /** In the plural: the name of its figure in a report, and of its sheet in a workbook. */
  readonly title: string;
  /** The fields that are usual with it. */
  readonly fields: readonly PayloadField[];
  /** In a workbook, those of the ball have a row each; those of a player, ten a second, are only counted, by player. */
  readonly about: 'ball' | 'player';
  /** Whether an event is invalid if one of `fields` holds a value of another kind. Otherwise the field is only reported as odd. */
  readonly isTyped?: true;
}

const ENVELOPE = {
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
  payload: { meaning: 'the whole payload as a JSON object; values without a column are only here' },
} as const satisfies Readonly<Record<string, Member>>;

const COORDINATE = 'coordinate, from the origin that the source has';
const BY_NAME = 'by the name that the source uses';

/** In the order of their columns: a new field goes to the end (session/export/columns.ts). */
export const PAYLOAD = {
  x_ft: { kind: 'number', unit: 'ft', example: 12.4, meaning: `where on the court, first ${COORDINATE}` },
  y_ft: { kind: 'number', unit: 'ft', example: 7.85, meaning: `where on the court, second ${COORDINATE}` },
  is_in: { kind: 'boolean', example: true, meaning: 'whether the ball was in: true or false' },
  kmh: { kind: 'number', unit: 'km/h', example: 71.5, meaning: 'speed of the ball' },
  player_id: { kind: 'string', example: 'player-2', meaning: `the player, ${BY_NAME}` },
  shot_type: { kind: 'string', example: 'drive', meaning: `the kind of shot, ${BY_NAME}` },
  swing_type: { kind: 'string', example: 'forehand', meaning: `the kind of swing, ${BY_NAME}` },
} as const satisfies Readonly<Record<string, PayloadMember>>;

const TABLE = {
  BALL_BOUNCE: { title: 'Bounces', fields: ['x_ft', 'y_ft', 'is_in'], about: 'ball', isTyped: true },
  BALL_HIT: { title: 'Hits', fields: ['player_id', 'shot_type', 'swing_type'], about: 'ball' },
  BALL_SPEED: { title: 'Speeds', fields: ['kmh'], about: 'ball' },
  PLAYER_POSITION: { title: 'Positions', fields: ['player_id', 'x_ft', 'y_ft'], about: 'player' },
  PLAYER_IDENTITY: { title: 'Identities', fields: ['player_id'], about: 'player' },
} as const satisfies Readonly<Record<string, TypeEntry>>;

export type EventType = keyof typeof TABLE;
export type PayloadField = keyof typeof PAYLOAD;
export type Field = keyof typeof ENVELOPE | PayloadField;

export const TYPES: Readonly<Record<EventType, TypeEntry>> = TABLE;
export const MEMBERS: Readonly<Record<Field, Member>> = { ...ENVELOPE, ...PAYLOAD };

function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(table) as Name[];
}

export const EVENT_TYPES = namesOf(TABLE);
export const ENVELOPE_FIELDS = namesOf(ENVELOPE);
export const PAYLOAD_FIELDS = namesOf(PAYLOAD);
/** Those whose events name a player. */
export const PLAYER_TYPES = EVENT_TYPES.filter((type) => TYPES[type].fields.includes('player_id'));
