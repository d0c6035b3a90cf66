import Database from 'better-sqlite3';

/** Connections of the store that are open. */
export const connections = new Set<Database.Database>();

/** In the place of better-sqlite3, whose constructor it is: it remembers what has to be closed when the process has gone. */
export default class TrackedDatabase extends Database {
  constructor(file: string, options?: Database.Options) {
    super(file, options);
    connections.add(this);
  }

  override close(): this {
    super.close();
    connections.delete(this);
    return this;
  }
}

/** When a process ends, the kernel closes its files. */
export function closeAll(): void {
  for (const one of connections) {
    try {
      one.close();
    } catch {
      // A query is still running on it: it is freed when nothing refers to it any more.
      connections.delete(one);
    }
  }
}
