const KIB = 1024;
const MIB = 1024 * KIB;

/** Limits that a client or an operator can notice, and those that several files share, each with its unit and its reason. */

// What one request may hold.

/** Events in one request (spec 4.1). */
export const BATCH_EVENTS = 500;
/** JSON values in one body, at any depth, without member names: 500 events with a skeleton of 33 points each have 70,000. */
export const BODY_VALUES = 250_000;
/** Nested objects and arrays in one event, the event itself included. */
export const EVENT_DEPTH_LEVELS = 32;
/** Unicode code points in event_id, session_id, venue_id, court_id and source. Texts of a payload, such as player_id, have no limit of their own. */
export const NAME_CODE_POINTS = 256;
/** ASCII characters in an eot. */
export const EOT_CHARS = 64;
/** Years, in UTC, whose every nanosecond fits into a signed 64-bit integer. */
export const EOT_YEARS = { first: 1678, last: 2261 } as const;
/** The highest revision, 2^53 - 1: some cameras send a time in milliseconds, and JSON readers are exact up to here (RFC 8259, 6). */
export const REVISION_MAX = Number.MAX_SAFE_INTEGER;
/** Bytes of a request's body, both as sent and as decoded, unless `--body-limit` says otherwise. */
export const BODY_BYTES = 8 * MIB;
/** Bytes of a line with an event in a file: a rejected one has its faults around it. */
export const LINE_BYTES = BODY_BYTES + 64 * KIB;
/** Bytes that `--body-limit` accepts: one event must fit, and the bodies in flight must still fit into memory. */
export const BODY_LIMIT_BYTES = { least: KIB, most: 64 * MIB } as const;

// What a problem response shows.

/** Invalid events that a response lists, and faults of each; the totals are always given. */
export const LISTED_EVENTS = 50;
export const LISTED_FAULTS = 10;
/** Characters of an invalid value that a fault quotes. */
export const QUOTED_CHARS = 60;

/** Characters up to which two payloads with the same key are compared as JSON values; longer ones are compared as text. */
export const COMPARED_CHARS = 4_096;

// Admission (src/http/admission.ts).

/** Bytes of all large bodies in flight, as declared, received or decoded. A body that does not fit is answered 503. */
export const BODIES_IN_FLIGHT_BYTES = 16 * MIB;
/** Bytes up to which a body is small: always admitted, not counted among the bodies in flight, and parsed at once. */
export const SMALL_BODY_BYTES = 64 * KIB;
/** Milliseconds that a large body waits for its turn to be parsed, before it is answered 503. */
export const BODY_QUEUE_MS = 5_000;
/** Requests a second from one client address, unless `--rate-limit` says otherwise; the burst is twice that. */
export const RATE_PER_S = 1_000;
/** Client addresses that each per-address table (rate, log) keeps: bounds its memory. */
export const TRACKED_ADDRESSES = 10_000;

// Connections.

/** The TCP port (spec 1). */
export const PORT = 4_000;
/** Bytes of all request headers together (431). */
export const HEADERS_BYTES = 16 * KIB;
/** Header fields (431). Node only bounds their bytes; a short field takes ten times its bytes in memory. */
export const HEADER_FIELDS = 100;
/** Milliseconds from the first byte of a request to the end of its headers (408). Also bounds a TLS handshake. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** Milliseconds from the first byte of a request to its end (408). */
export const REQUEST_TIMEOUT_MS = 30_000;
/** Milliseconds without a byte in either direction after which a client that reads no response is closed; the 408 comes before. */
export const SILENCE_MS = 35_000;
/** Milliseconds that an idle keep-alive connection stays open: longer than a camera pauses between two rallies. */
export const KEEP_ALIVE_MS = 75_000;
/** Open connections: a venue has a hundred cameras. At the limit, the oldest that never showed a valid token is closed. */
export const CONNECTIONS = 2_048;
/** Open connections of one client address, unless `--connections-per-address` says otherwise. */
export const CONNECTIONS_PER_ADDRESS = 256;
/** Connections that the kernel keeps until they are accepted, also while courtd restarts and systemd holds the socket. */
export const BACKLOG_CONNECTIONS = 4_096;
/** A lingering close discards this much input, for this long, so that a client that is still sending sees its response. */
export const LINGER_BYTES = 64 * MIB;
export const LINGER_MS = 10_000;

// The store.

/** Requests waiting for a commit; above it, a new one is answered 503 at once. */
export const QUEUED_REQUESTS = 4_096;
/** Milliseconds between attempts to commit while another program locks the database, and until its requests are answered 503. */
export const BUSY_RETRY_MS = 10;
export const BUSY_GIVE_UP_MS = 250;
/** Interned names cached, of each kind: an origin may have 2,500 UTF-16 code units. */
export const NAMES_CACHED = 2_000;
/** Rows and bytes that a reader reads in one transaction, so that it never keeps the write-ahead log from shrinking for long. */
export const READ_CHUNK_ROWS = 500;
export const READ_CHUNK_BYTES = 2 * MIB;
/** Milliseconds between two looks of `tail --follow`: an idle tail takes 0.6 % of a core at 50, and 0.2 % at 200. */
export const FOLLOW_POLL_MS = 50;
/** How long `tail --order eot` holds an event: cameras that see the same send within this. */
export const EOT_WINDOW_MS = 500;
/** Size of the write-ahead log from which `status` reports it: another program's long read transaction keeps it from shrinking. */
export const WAL_WARN_BYTES = 256 * MIB;
/** Size of the write-ahead log from which events are answered 503 until that reader is gone: the disk is for events. */
export const WAL_MAX_BYTES = 1024 * MIB;
/** Milliseconds between checks that the daemon's files still exist: events stored in a deleted database are lost. */
export const FILES_CHECK_MS = 1_000;
/** Free space in bytes below which the log warns, unless `--min-free` says otherwise: a week of a busy venue. */
export const MIN_FREE_BYTES = 1024 * MIB;
/** Milliseconds between attempts to write to a full disk, and between looks for free space; in between, events are answered 503. */
export const FULL_RETRY_MS = 1_000;
/** Disk space reserved for a prune on a full disk: its write-ahead log up to a checkpoint, and its first steps. */
export const RESERVE_BYTES = 6 * MIB;
/** Milliseconds that a command waits for a lock on the database. */
export const COMMAND_BUSY_MS = 5_000;
/** No event was received before this: a year before courtd's first version, for those who try retention with the clock set back. */
export const EARLIEST_RECEIVED_MS = Date.UTC(2025, 9, 1);
/** Backups kept in a directory, unless `--keep` says otherwise: a week of nights. */
export const BACKUPS_KEPT = 7;
/** Conflicts whose other copy is kept, the newest; and the bytes of a copy above which it is only counted. */
export const CONFLICT_COPIES = 1_000;
export const CONFLICT_COPY_BYTES = 64 * KIB;

// Sources (src/telemetry/sourceTable.ts).

/** Sources that are remembered at a time: a venue has a hundred. */
export const SOURCES_KNOWN = 1_000;
/** Milliseconds between two writes of the state of the sources: each wears the flash. */
export const SOURCES_WRITE_MS = 60_000;
/** Milliseconds for which an odd field, or a conflict, is reported after the last event with it. */
export const SOURCE_FAULT_MS = 3_600_000;

// Rejected requests (src/store/refused/refusedRequests.ts, src/telemetry/refusals.ts).

/** Requests without a body that are kept of each kind of error. */
export const REFUSED_KEPT = 1_000;
/** Bytes of all bodies that are kept, unless `--refused-bytes` says otherwise: a day of a camera that is rejected during play. */
export const REFUSED_BYTES = 256 * MIB;
/** Milliseconds for which they are kept: a season's break, and time for a vendor to answer. */
export const REFUSED_MS = 30 * 86_400_000;
/** Free disk space below which no body is kept is this part of the file system, if that is less than MIN_FREE_BYTES. */
export const REFUSED_FREE_PART = 0.1;
/** Requests without a body that are kept in a second. */
export const REFUSED_A_SECOND = 500;
/** Milliseconds until a request is written: within a second, the transaction included. */
export const REFUSED_WRITE_MS = 800;
/** Milliseconds between two checks for old events, for low disk space, and for rejected bodies whose events are stored. */
export const REFUSED_CHECK_MS = 30_000;
/** Kinds of one error that the daemon counts in memory, by client and camera. */
export const REFUSAL_KINDS = 200;

// Tokens.

/** Random bytes in a token: 256 bits cannot be guessed. */
export const TOKEN_BYTES = 32;
/** Seconds that older tokens remain valid after a rotation, unless `--grace` says otherwise: time to change every camera. */
export const TOKEN_GRACE_S = 86_400;
/** Retry-After of a 401, in seconds: a camera that has been given the new token soon sends again. */
export const UNAUTHORIZED_RETRY_S = 30;

// Shutdown, and trying again.

/** Milliseconds from SIGTERM until all connections are closed. */
export const SHUTDOWN_MS = 8_000;
/** Retry-After in seconds (RFC 9110, 10.2.3), by reason. It is not enforced: a client that retries at once is rejected at once. */
export const RETRY_AFTER_S = { busy: 1, overloaded: 2, full: 5, shutdown: 2 } as const;
