import type { Near } from './plan.ts';

/** A text of a file of `src`, and what is read in its place. */
interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A fault that can be planted, to see whether it is found. */
export interface Plant {
  readonly name: string;
  /** What is broken, in a sentence. */
  readonly what: string;
  readonly changes: readonly Change[];
  /** It takes several things at once, these among them: its histories bring them together. */
  readonly near?: Near;
}

const ALWAYS_FULL = "db.pragma('synchronous = FULL')";
const UNSYNCED = "db.pragma('synchronous = NORMAL')";
const REWRITE_NOTHING = {
  file: 'store/db/rewriteWal.ts',
  from: 'if (frames <= 0) return;',
  to: 'return;',
};

export const PLANTS: readonly Plant[] = [
  {
    name: 'no-sync',
    what: 'commits are not synced (synchronous = NORMAL), as is the default of better-sqlite3',
    changes: [{ file: 'store/db/openDatabase.ts', from: ALWAYS_FULL, to: UNSYNCED }],
  },
  {
    name: 'no-recovery-barrier',
    what: 'a start does not sync what a killed process had written',
    changes: [REWRITE_NOTHING],
  },
  {
    name: 'wal-trusted',
    near: ['failing', 'killAtCall'],
    what: 'a start only syncs what a killed process had written, even if a sync of that has failed',
    changes: [{ file: 'store/db/rewriteWal.ts', from: '      overwrite(fd, bytes);\n', to: '' }],
  },
  {
    name: 'counted-twice',
    what: 'what a session has counted is counted again',
    changes: [{ file: 'store/db/sessionCounter.ts', from: '    setCounted.run();\n', to: '' }],
  },
  {
    name: 'io-error-passes',
    near: ['request', 'failing', 'cut'],
    what: 'after an I/O error the store continues',
    changes: [
      {
        file: 'store/db/sqliteErrors.ts',
        from: "[/^SQLITE_(FULL|IOERR_SHMSIZE)/, 'full']",
        to: "[/^SQLITE_(FULL|IOERR)/, 'full']",
      },
    ],
  },
  {
    name: 'tail-unsynced',
    near: ['tail', 'killAtCall'],
    what: 'a reader in the order of arrival does not sync what a killed daemon has left',
    changes: [REWRITE_NOTHING],
  },
  {
    name: 'seq-again',
    near: ['prune', 'stop'],
    what: 'the seqs of pruned events are given again',
    changes: [
      {
        file: 'store/db/epochs.ts',
        from: '(SELECT up_to_seq FROM pruned), (SELECT max(up_to, counted_up_to) FROM flushed),',
        to: '',
      },
    ],
  },
  {
    name: 'half-a-request',
    what: 'the events of a request are committed one by one',
    changes: [
      {
        file: 'store/write/groupCommit.ts',
        from: 'const counts = this.appender.commit(group);',
        to: `const counts = group.map(({ events, ...request }) => {
        const counts = events.map((event) => this.appender.commit([{ ...request, events: [event] }])[0]!);
        const sum = (of: 'accepted' | 'duplicates' | 'conflicts') => counts.reduce((n, c) => n + c[of], 0);
        return { accepted: sum('accepted'), duplicates: sum('duplicates'), conflicts: sum('conflicts') };
      });`,
      },
    ],
  },
  {
    name: 'restore-keeps-wal',
    what: 'the WAL of the replaced database stays beside the restored one',
    changes: [
      {
        file: 'store/keep/restoreDatabase.ts',
        from: "for (const part of [...COMPANIONS, '-shm']) fs.rmSync(target + part, { force: true });",
        to: '',
      },
      { file: 'store/keep/restoreDatabase.ts', from: "db.pragma('journal_mode = DELETE');", to: '' },
    ],
  },
  {
    name: 'name-unsynced',
    near: ['backup', 'restore', 'cut'],
    what: 'the directory is not synced after a rename',
    changes: [{ file: 'base/atomicFile.ts', from: '    fsync(path.dirname(file));\n', to: '' }],
  },
  {
    name: 'copy-unsynced',
    what: 'a step of a copy counts before it is synced',
    changes: [
      {
        file: 'store/keep/follow.ts',
        from: "copy.pragma('synchronous = FULL');",
        to: "copy.pragma('synchronous = OFF');",
      },
    ],
  },
  {
    name: 'copy-keeps-pruned',
    near: ['prune', 'copy'],
    what: 'a copy keeps what the box has deleted',
    changes: [
      {
        file: 'store/keep/copyRows.ts',
        from: 'copy.exec(`DELETE',
        to: 'if (table === "") copy.exec(`DELETE',
      },
    ],
  },
  {
    name: 'copy-keeps-erased',
    near: ['erase', 'copy'],
    what: 'a copy keeps the events of an erased player',
    changes: [
      {
        file: 'store/keep/copyRows.ts',
        from: ".join(' AND ')",
        to: ".slice(0, table === 'event' ? 1 : undefined).join(' AND ')",
      },
    ],
  },
  {
    name: 'copy-erased-early',
    near: ['erase', 'rebuild'],
    what: 'the ledger of a copy says that an erasure is finished before the copy has followed it',
    changes: [
      {
        file: 'store/keep/copyRows.ts',
        from: "'at_ms']",
        to: "'at_ms', 'finished_ms']",
      },
    ],
  },
];

/**
 * @param file of `src`, relative to it. @returns its text with a fault in it.
 * @throws if a text to replace is not there any more, or not just once.
 */
export function planted(file: string, source: string, plant: Plant): string {
  return plant.changes.reduce((text, change) => {
    if (change.file !== file) return text;
    const parts = text.split(change.from);
    if (parts.length !== 2)
      throw new Error(`src/${file} has ${parts.length - 1} times, not once: ${change.from}`);
    return parts.join(change.to);
  }, source);
}
