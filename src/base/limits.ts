const KIB = 1024;
const MIB = 1024 * KIB;

/** Events in one request (spec 4.1). */
export const BATCH_EVENTS = 500;
/**
 * JSON values in one body, counted while it is read, at whatever depth: numbers, strings, literals, arrays and objects (design 2).
 * 500 events with a skeleton of 33 points each have 70,000. It bounds how long one body keeps the others waiting.
 */
export const BODY_VALUES = 250_000;
/** Containers inside each other in one event, the event itself counted (design 2). */
export const EVENT_DEPTH_LEVELS = 32;
/** Code points in event_id, session_id, venue_id, court_id and source (design 2). */
export const NAME_CODE_POINTS = 256;
/** UTF-16 units, all ASCII, in an eot (design 2). */
export const EOT_CHARS = 64;
/** Years whose every nanosecond fits a signed 64-bit integer, whatever the offset (design 2). */
export const EOT_YEARS = { first: 1678, last: 2261 } as const;
/** The highest revision: a signed 32-bit integer (design 2). */
export const REVISION_MAX = 2_147_483_647;

/** Invalid events that one answer names, and faults it names of each; the totals are always told (design 2). */
export const LISTED_EVENTS = 50;
export const LISTED_FAULTS = 10;
/** Up to this length a payload that came again is compared as a JSON value, above it as text. */
export const COMPARED_CHARS = 4_096;
/** Characters of a bad value that a fault quotes back. */
export const QUOTED_CHARS = 60;

/** A request's body, as sent and as decoded, unless `--body-limit` says otherwise (design 2). */
export const BODY_BYTES = 8 * MIB;
/** What `--body-limit` can be: one event fits, and the waiting bodies still fit the memory. */
export const BODY_LIMIT_BYTES = { least: 4 * KIB, most: 64 * MIB } as const;
/** Large bodies of all requests that are being served, as announced or as they have become (design 2). */
export const BODIES_BYTES = 16 * MIB;
/** Requests up to this size always find room, and are not counted among them (design 2). */
export const SMALL_BODY_BYTES = 64 * KIB;
/**
 * Requests being served at once; above it a client that has its share of them is refused, and one with none never. To refuse costs as
 * much as to serve, so few are: at twice saturation 400 left 0.41 of the peak, 1,000 leave 0.84, with a p99 of 164 ms instead of 125.
 */
export const SERVED_REQUESTS = 1_000;
/**
 * Answers that the kernel has not taken, because their clients do not read: how long each may wait, and how large all of them are,
 * above which a client that has more than its share of them loses connections.
 */
export const ANSWER_TAKEN_MS = 30_000;
export const ANSWERS_UNTAKEN_BYTES = 8 * MIB;
/** What is read and thrown away of a connection that ends while its client is sending, so that it sees the answer (design 2). */
export const LINGER_BYTES = 64 * MIB;
export const LINGER_MS = 10_000;
/** How long a large body waits for its turn to be parsed, before it is answered 503 (design 2). */
export const BODY_WAIT_MS = 5_000;

/** The port of the protocol (spec 1). */
export const PORT = 4_000;
/** Request headers, all together: Node answers 431 above it. */
export const HEADERS_BYTES = 16 * KIB;
/** Fields in a head: Node bounds their bytes, and each costs ten times as much memory where they are short. */
export const HEADER_FIELDS = 100;
/** From the first byte of a request to the end of its headers, and to its end (408). A TLS handshake has the first of them. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
/** An idle connection: longer than a camera's pause between two rallies. */
export const KEEP_ALIVE_MS = 75_000;
/** Open connections. A venue has a hundred cameras. When all are taken, the oldest that never showed a token makes room. */
export const CONNECTIONS = 8_192;
/** Those of one client address, unless `--connections-per-address` says otherwise (design 2). */
export const CONNECTIONS_PER_ADDRESS = 256;
/** An address that was refused more often than this within a second, without a valid token, is not let in until that is over (design 2). */
export const UNAUTHORIZED_PER_S = 20;
/** Connections that wait to be accepted, also while courtd restarts and systemd holds the socket: the kernel takes no more. */
export const BACKLOG_CONNECTIONS = 4_096;

/** Requests a second from one client address, unless `--rate-limit` says otherwise; the burst is twice that (design 2). */
export const RATE_PER_S = 1_000;
/** What `--rate-limit` can be at most. */
export const RATE_LIMIT_MAX_PER_S = 1_000_000;
/** Client addresses whose rate is remembered at once. */
export const RATE_ADDRESSES = 10_000;

/** Requests waiting for a commit; above it a new one is answered 503 at once. */
export const QUEUED_REQUESTS = 4_096;
/** A group that finds the database locked is tried again this often, and this long (design 5). */
export const BUSY_RETRY_MS = 10;
export const BUSY_GIVE_UP_MS = 250;
/** Interned names kept in memory, of each kind, and their UTF-16 units: a name may have 512, an origin 2,500. */
export const NAMES_CACHED = 20_000;
export const NAMES_CACHED_CHARS = 2 * MIB;
/** If none could go to the file, events are refused from here on: a start reads all of them back, a million in a second. */
export const MEMTABLE_KEYS_MAX = 1_000_000;
/** Keys that move to the file with one commit: 5 to 15 ms. Before the first they are sorted by session, which takes 30 ms. */
export const FLUSH_STEP_KEYS = 4_000;
/** Sessions that `session list` reads at a time, and the most that `--last` takes. */
export const LISTED_SESSIONS = 1_000;
export const SESSIONS_LISTED_MAX = 1_000_000_000;
/** What a reader takes at a time, so that it never pins the log for long (design 5), however large the events are. */
export const READ_CHUNK_ROWS = 500;
export const READ_CHUNK_BYTES = 2 * MIB;
/** The log's size that is warned of: a reader that stays open keeps it from being cut off. */
export const WAL_WARN_BYTES = 256 * MIB;
/** The log's size from which events are refused until that reader is gone: the disk is for events. */
export const WAL_MAX_BYTES = 1024 * MIB;
export const WAL_CHECK_MS = 1_000;
/** How often the daemon looks for its files: what is answered behind a database that was removed is lost, and a prune waits for it. */
export const FILES_CHECK_MS = 1_000;
/** Free space below which the log warns, unless `--min-free` says otherwise: a week of a busy venue. */
export const MIN_FREE_BYTES = 1024 * MIB;
export const DISK_CHECK_MS = 30_000;
/** A full disk is tried again this often, by a request or without one; nothing is stored in between. */
export const FULL_RETRY_MS = 1_000;
/** How long storing must work before the log says so: on an almost full disk a small request still fits. */
export const FULL_QUIET_MS = 5_000;
/**
 * Kept on the disk for a prune when it is full: the log's CHECKPOINT_FRAMES, which the file may have to grow by, and half as much for
 * the first steps. And what other commands take of it: the shared memory (32 KiB) and a few pages.
 */
export const RESERVE_BYTES = 6 * MIB;
export const RESERVE_SLICE_BYTES = 128 * KIB;
/** How often the log tells of an old event that cannot be read: its camera sends it again every few seconds. */
export const DAMAGE_TOLD_MS = 60_000;
/** How long start waits for others to let go of the log (design 5), and a command for a lock. */
export const START_BARRIER_MS = 30_000;
export const COMMAND_BUSY_MS = 5_000;

/**
 * Room that an upgrade needs, in percent of the database: for the copy, for what goes through the log (34 of small events), and
 * for growth (18).
 */
export const UPGRADE_ROOM_PERCENT = 170;
/** No event is older than courtd, whose first version is of November 2026; and a year, for who tries retention with a clock set back. */
export const EARLIEST_RECEIVED_MS = Date.UTC(2025, 9, 1);
/** How often the daemon notes what its clock says, and by how much that may differ from one to the next (clockMark.ts). */
export const CLOCK_MS = { mark: 3_600_000, jump: 86_400_000 } as const;
/** What a prune reads at a time; and what it deletes at a time, by number and by time, so that no request waits for long. */
export const PRUNE_READ_ROWS = 1_000;
export const PRUNE_STEP_ROWS = 200;
export const PRUNE_STEP_KEYS = 5_000;
export const PRUNE_STEP_MS = 4;
/** Backups that a directory keeps, unless `--keep` says otherwise: a week of nights. */
export const BACKUPS_KEPT = 7;
export const BACKUPS_KEPT_MAX = 100_000;

/** Random bytes in a token, and how long older tokens go on working after a rotation (design 3). */
export const TOKEN_BYTES = 32;
export const TOKEN_GRACE_S = 86_400;
/** What a camera without a valid token is told to wait: soon after it has been given the new one, it sends again (design 2). */
export const UNAUTHORIZED_RETRY_S = 30;
/** The last use of a token is written at most this often (design 3). */
export const TOKEN_USE_WRITE_MS = 60_000;

/** Lines that the log takes of one client's refusals and conflicts in a minute, in all and of one kind; the rest is counted. */
export const CLIENT_LOG_LINES = 20;
export const CLIENT_LOG_LINES_OF_A_KIND = 3;
/** How often the log sums up. */
export const SUMMARY_MS = 60_000;

/** A TLS certificate with less than this left is warned of: at start, when it is read again, and once a day. */
export const CERTIFICATE_WARN_DAYS = 30;
export const CERTIFICATE_CHECK_MS = 86_400_000;

/** From SIGTERM to the end: what was accepted has this long to be answered. */
export const SHUTDOWN_MS = 8_000;
/** Connections that have sent nothing are left this long at shutdown: a request may be on its way. */
export const SHUTDOWN_IDLE_MS = 500;
/**
 * What a client is told to wait before it tries again, in whole seconds (RFC 9110, section 10.2.3). Nobody is made to: one who
 * asks again at once is refused at once.
 */
export const RETRY_AFTER_S = { busy: 1, overloaded: 2, full: 5, shutdown: 2 } as const;
