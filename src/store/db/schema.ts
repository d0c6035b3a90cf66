import type { Database } from 'better-sqlite3';
import { RANDOM_NAME } from './epochs.ts';

/**
 * The layout of courtd.db (../../ARCHITECTURE.md#layout). No id is assigned twice, because readers and the daemon cache them. No table
 * that takes events has a constraint, other than its key, that OR IGNORE could swallow.
 */

/** "crt1" in ASCII, at offset 68 of the file: distinguishes our databases from others (SQLite file format). */
export const APPLICATION_ID = 0x63727431;
/** A frame of the WAL dirties 1.25 pages of the kernel, and 2 if it has 4 KiB: a lone event writes 5.6 KB instead of 8.7. */
export const PAGE_BYTES = 1024;

const LAYOUT = `
  CREATE TABLE session (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    -- Of the events up to flushed.counted_up_to: how many, and the first and the last by eot; NULL: not known since a deletion.
    events     INTEGER NOT NULL DEFAULT 0,
    first_ns   INTEGER,
    first_eot  TEXT,
    last_ns    INTEGER,
    last_eot   TEXT,
    duplicates INTEGER NOT NULL DEFAULT 0   -- copies that were received again and ignored
  ) STRICT;

  CREATE TABLE origin (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    venue          TEXT NOT NULL,
    court          TEXT NOT NULL,
    source         TEXT NOT NULL,
    -- BALL_BOUNCE, BALL_HIT, BALL_SPEED, PLAYER_POSITION or PLAYER_IDENTITY
    type           TEXT NOT NULL,
    schema_version TEXT NOT NULL,
    UNIQUE (venue, court, source, type, schema_version)
  ) STRICT;

  CREATE TABLE event (
    seq         INTEGER PRIMARY KEY,
    session     INTEGER,
    event_id    TEXT,
    revision    INTEGER,
    eot_ns      INTEGER,                    -- nanoseconds since 1970-01-01T00:00:00Z
    eot         TEXT,                       -- as sent
    origin      INTEGER,
    confidence  REAL,
    received_ms INTEGER,                    -- milliseconds since 1970-01-01T00:00:00Z
    checksum    INTEGER,                    -- CRC-32 of all of it and of its names: see checksum.ts
    payload     TEXT,                       -- JSON object, as sent
    extra       TEXT,                       -- JSON object of unknown envelope fields, or NULL
    erased      INTEGER                     -- 1: an erasure has taken a player out of it; else NULL
  ) STRICT;

  CREATE TABLE key (
    session  INTEGER,
    hash     BLOB,                          -- of the event_id: see keyHash.ts
    revision INTEGER,
    seq      INTEGER,
    PRIMARY KEY (session, hash, revision)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE flushed (                    -- one row
    up_to         INTEGER NOT NULL,         -- the keys of all events up to this seq are in "key"
    counted_up_to INTEGER NOT NULL          -- "session" counts the events up to this seq
  ) STRICT;
  INSERT INTO flushed VALUES (0, 0);

  CREATE TABLE pruned (                      -- one row
    up_to_seq INTEGER NOT NULL              -- the highest seq whose event a prune has deleted
  ) STRICT;
  INSERT INTO pruned VALUES (0);

  CREATE TABLE epoch (                       -- the current one is the last: see epochs.ts
    id       INTEGER PRIMARY KEY,
    name     TEXT    NOT NULL,
    from_seq INTEGER NOT NULL,              -- the highest seq when it began
    shipped_seq INTEGER                     -- NULL, or what headquarters had when an operator began the epoch
  ) STRICT;
  INSERT INTO epoch (name, from_seq) VALUES (${RANDOM_NAME}, 0);

  CREATE TABLE conflict (                   -- events whose key was received again with a different JSON value
    session INTEGER,
    seq     INTEGER,
    copies  INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    PRIMARY KEY (session, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE conflict_copy (              -- the newest conflicts (duplicates.ts)
    seq   INTEGER PRIMARY KEY,              -- of the event that is stored
    turn  INTEGER NOT NULL,                 -- the newest has the highest: the clock of the box may be set back
    event TEXT                              -- the last other copy, as JSON; NULL: too large to be kept
  ) STRICT;
  CREATE INDEX conflict_copy_turn ON conflict_copy (turn);

  CREATE TABLE source (                     -- what outlives the daemon of its sources (storedSources.ts)
    court       TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    client      TEXT    NOT NULL,           -- the address that it last sent from
    is_expected INTEGER NOT NULL,           -- 1: to be missed when neither events nor empty arrays come from there
    known_at    INTEGER NOT NULL,           -- the number of the day on which it was first and last heard
    heard_at    INTEGER NOT NULL,
    pauses      TEXT    NOT NULL,           -- what is remembered of it, as JSON
    PRIMARY KEY (court, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE running_time (               -- one row
    ms INTEGER NOT NULL                     -- on how many days any source was heard
  ) STRICT;
  INSERT INTO running_time VALUES (0);

  CREATE TABLE erasure (                    -- the players who have been erased (../write/ledger.ts)
    key         BLOB    NOT NULL,           -- of the hash
    player      BLOB    NOT NULL,           -- hash of the player_id
    before_ns   INTEGER NOT NULL,           -- of the player's events, those with an earlier eot_ns
    at_ms       INTEGER NOT NULL,           -- when that was asked for
    finished_ms INTEGER,                    -- NULL: it was ended in the middle
    PRIMARY KEY (key, player)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE secret (                     -- one row: of the hashes that are names of players (../write/ledger.ts)
    key BLOB NOT NULL
  ) STRICT;
  INSERT INTO secret VALUES (randomblob(16));

  CREATE TABLE token (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    hash           BLOB    NOT NULL UNIQUE, -- SHA-256 of the token; the token is not stored
    created_ms     INTEGER NOT NULL,
    expires_ms     INTEGER,                 -- NULL: never expires
    revoked_ms     INTEGER,
    last_used_ms   INTEGER,
    last_used_from TEXT
  ) STRICT;

  -- The seqs of each session's events; of events that were deleted, a few may be left.
  CREATE VIEW session_event AS
    SELECT session, seq FROM key WHERE seq <= (SELECT up_to FROM flushed)
    UNION ALL SELECT session, seq FROM event WHERE seq > (SELECT up_to FROM flushed);

  -- What sessions have not counted yet.
  CREATE VIEW uncounted AS
    SELECT f.session, f.events, f.first_ns, f.first_eot, l.last_ns, l.last_eot
      FROM (SELECT session, count(*) AS events, min(eot_ns) AS first_ns, eot AS first_eot FROM event
             WHERE seq > (SELECT counted_up_to FROM flushed) GROUP BY session) AS f
      JOIN (SELECT session, max(eot_ns) AS last_ns, eot AS last_eot FROM event
             WHERE seq > (SELECT counted_up_to FROM flushed) GROUP BY session) AS l ON l.session = f.session;

  CREATE VIEW session_total AS
    SELECT id, name, events + ifnull(new_events, 0) AS events,
           iif(is_first, new_first_ns, first_ns) AS first_ns, iif(is_first, new_first_eot, first_eot) AS first_eot,
           iif(is_last, new_last_ns, last_ns) AS last_ns, iif(is_last, new_last_eot, last_eot) AS last_eot, duplicates
      FROM (
        SELECT s.*, u.events AS new_events, u.first_ns AS new_first_ns, u.first_eot AS new_first_eot,
               u.last_ns AS new_last_ns, u.last_eot AS new_last_eot,
               u.events > 0 AND (s.events = 0 OR u.first_ns < s.first_ns) AS is_first,
               u.events > 0 AND (s.events = 0 OR u.last_ns >= s.last_ns) AS is_last
          FROM session s LEFT JOIN uncounted u ON u.session = s.id) AS both;

  -- For people who open a copy of the file with a SQLite shell. "current": 1 for the highest revision of its event, else 0.
  -- A payload that is damaged has no fields, and a field of another type is NULL; only a number or boolean is a text, too.
  CREATE VIEW events AS
    SELECT seq, session_id, event_id, revision,
           revision >= ifnull((
             SELECT highest FROM (SELECT session, event_id, max(revision) AS highest FROM event WHERE revision > 0
                                   GROUP BY session, event_id) AS revised
              WHERE revised.session = named.session AND revised.event_id = named.event_id), 0) AS current,
           eot, eot_ns, type, court_id, venue_id, confidence, source, schema_version, received_at,
           iif(json_type(json, '$.x_ft') IN ('integer', 'real'), json ->> '$.x_ft', NULL) AS x_ft,
           iif(json_type(json, '$.y_ft') IN ('integer', 'real'), json ->> '$.y_ft', NULL) AS y_ft,
           iif(json_type(json, '$.is_in') IN ('true', 'false'), json ->> '$.is_in', NULL) AS is_in,
           iif(json_type(json, '$.kmh') IN ('integer', 'real'), json ->> '$.kmh', NULL) AS kmh,
           CASE WHEN json_type(json, '$.player_id') = 'text' THEN json ->> '$.player_id'
                WHEN json_type(json, '$.player_id') IN ('integer', 'real', 'true', 'false') THEN json -> '$.player_id'
           END AS player_id,
           CASE WHEN json_type(json, '$.shot_type') = 'text' THEN json ->> '$.shot_type'
                WHEN json_type(json, '$.shot_type') IN ('integer', 'real', 'true', 'false') THEN json -> '$.shot_type'
           END AS shot_type,
           CASE WHEN json_type(json, '$.swing_type') = 'text' THEN json ->> '$.swing_type'
                WHEN json_type(json, '$.swing_type') IN ('integer', 'real', 'true', 'false') THEN json -> '$.swing_type'
           END AS swing_type,
           payload, extra, erased
      FROM (
        SELECT e.seq, e.session, s.name AS session_id, e.event_id, e.revision, e.eot, e.eot_ns, o.type,
               o.court AS court_id, o.venue AS venue_id, e.confidence, o.source, o.schema_version,
               strftime('%Y-%m-%dT%H:%M:%fZ', e.received_ms / 1000.0, 'unixepoch') AS received_at,
               iif(json_valid(e.payload), e.payload, NULL) AS json, e.payload, e.extra,
               ifnull(e.erased, 0) AS erased
          FROM event e JOIN session s ON s.id = e.session LEFT JOIN origin o ON o.id = e.origin) AS named;
`;

/**
 * A pragma: the connection overwrites what it deletes, in pages that it writes anyway. An erasure (../keep/erase.ts) relies on it
 * from the first event of a database on: if a root page gets children, its old content would stay in its free space for ever.
 */
export const OVERWRITE_DELETED = 'secure_delete = FAST';

/** The layout that this version reads and writes: the first. */
export const SCHEMA_VERSION = 1;

/** @returns the layout version of the file. */
export function layoutOf(db: Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}

/** Makes the tables of a new database, in an empty file. */
export function makeLayout(db: Database): void {
  db.pragma(`page_size = ${PAGE_BYTES}`);
  db.pragma(OVERWRITE_DELETED);
  // For a prune to return space to a full disk (../keep/steps.ts); it cannot be changed once there is a table.
  db.pragma('auto_vacuum = INCREMENTAL');
  const marks = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`;
  db.exec(`BEGIN; ${LAYOUT}; ${marks}; COMMIT`);
}
