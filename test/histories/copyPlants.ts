import type { Plant } from './plants.ts';

/** Faults of a copy, and of the restore of it. */
export const COPY_PLANTS: readonly Plant[] = [
  {
    name: 'copy-unsynced',
    what: 'a step of a copy counts before it is synced',
    changes: [
      {
        file: 'store/backup/follow.ts',
        from: "copy.pragma('synchronous = FULL');",
        to: "copy.pragma('synchronous = OFF');",
      },
    ],
  },
  {
    name: 'copy-keeps-pruned',
    near: ['prune', 'copy'],
    what: 'a copy keeps what the box has deleted',
    changes: [{ file: 'store/backup/follow.ts', from: 'for (const seq of gone) remove.run(seq);', to: '' }],
  },
  {
    name: 'copy-keeps-erased',
    near: ['erase', 'copy'],
    what: 'a copy keeps the events of who was erased',
    changes: [
      {
        file: 'store/backup/follow.ts',
        from: 'const rows = [...changed, ...events];',
        to: 'const rows = [...events, ...changed.slice(0, 0)];',
      },
    ],
  },
  {
    name: 'copy-erased-early',
    near: ['erase', 'rebuild'],
    what: 'the ledger of a copy says that an erasure is finished before the copy has followed it',
    changes: [
      {
        file: 'store/backup/copyTables.ts',
        from: "return column === 'finished_ms' && !isSettled ? 'NULL' : column;",
        to: 'return column;',
      },
    ],
  },
  {
    name: 'copy-without-keys',
    what: 'a box that was made of a copy does not know the keys of its events',
    changes: [
      {
        file: 'store/layout/completeKeys.ts',
        from: 'UPDATE flushed SET up_to = max(up_to, ifnull((SELECT max(seq) FROM event), 0))',
        to: 'DELETE FROM key; UPDATE flushed SET up_to = max(up_to, ifnull((SELECT max(seq) FROM event), 0))',
      },
    ],
  },
];
