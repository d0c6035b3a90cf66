import type { Plant } from './plants.ts';

/** Faults of a copy in a directory, and of the rebuild from it. */
export const COPY_PLANTS: readonly Plant[] = [
  {
    name: 'copy-unsynced',
    what: 'a chunk of a copy counts before it is synced',
    changes: [
      {
        file: 'fleet/copy/copyWriter.ts',
        from: '      await handle.writeFile(data);\n      await handle.sync();\n',
        to: '      await handle.writeFile(data);\n',
      },
    ],
  },
  {
    name: 'copy-unnamed',
    what: 'a chunk in a new file of a copy counts before the name of the file is synced',
    changes: [
      {
        file: 'fleet/copy/copyWriter.ts',
        from: 'if (isNew) await syncFolder(path.dirname(name));',
        to: '',
      },
    ],
  },
  {
    name: 'copy-pruned-early',
    what: 'with a prune a file of the copy goes that has what the box still has',
    changes: [
      {
        file: 'fleet/copy/copyWriter.ts',
        from: '?.chunk.last ?? 0) < below)',
        to: '?.chunk.last ?? 0) < below + 9)',
      },
    ],
  },
  {
    name: 'copy-keeps-erased',
    what: 'a copy says that it has nothing left of who was erased, and has not been written anew',
    changes: [
      {
        file: 'fleet/copy/rewriteCopy.ts',
        from: 'if (without.every((line) => line === undefined)) return undefined;',
        to: 'if (without.length > 0) return undefined;',
      },
    ],
  },
  {
    name: 'copy-rewritten-unsynced',
    near: ['erase', 'copy'],
    what: 'a file of a copy that was written anew after an erasure takes the place of the old one before it is synced',
    changes: [
      {
        file: 'fleet/copy/rewriteCopy.ts',
        from: '      await handle.sync();\n',
        to: '',
      },
    ],
  },
  {
    name: 'copy-rewritten-unnamed',
    near: ['erase', 'copy'],
    what: 'a copy says that it has nothing left of who was erased before the names of its new files are synced',
    changes: [
      {
        file: 'fleet/copy/rewriteCopy.ts',
        from: '    await syncFolder(folder);\n',
        to: '',
      },
    ],
  },
  {
    name: 'rebuild-keeps-epoch',
    what: 'a rebuilt box goes on with the log of the lost one',
    changes: [{ file: 'store/rebuild/rebuiltDatabase.ts', from: '      beginEpoch(db);\n', to: '' }],
  },
  {
    name: 'rebuild-without-ledger',
    near: ['erase', 'rebuild'],
    what: 'a rebuild brings back whom an erasure has taken out',
    changes: [
      { file: 'fleet/rebuild/rebuildBox.ts', from: 'copied?.erasures.map(erasureOf) ?? []', to: '[]' },
    ],
  },
  {
    name: 'rebuild-without-keys',
    what: 'a rebuilt box does not know the keys of its events',
    changes: [
      {
        file: 'store/rebuild/rebuiltDatabase.ts',
        from: 'this.#putKeyOf(session, event.eventId, event.revision, seq);',
        to: '',
      },
    ],
  },
  {
    name: 'rebuild-unrevokes',
    near: ['revoke', 'rebuild'],
    what: 'a token that was revoked is valid in a rebuilt box',
    changes: [
      {
        file: 'store/tokens/tokens.ts',
        from: "add.run(id, Buffer.from(hash, 'hex'), created_ms, expires_ms, revoked_ms);",
        to: "add.run(id, Buffer.from(hash, 'hex'), created_ms, expires_ms, null);",
      },
    ],
  },
];
