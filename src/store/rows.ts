import type { Database, RunResult, Statement } from 'better-sqlite3';
import { INSERT_ROWS } from '../protocol/limits.ts';

type Value = string | number | bigint | null;

/** One statement with a list of rows, prepared once for each number of rows up to INSERT_ROWS. */
export class RowsStatement<Answer = unknown> {
  readonly #prepared: Statement<Value[], Answer>[] = [];
  readonly #db: Database;
  readonly #columns: number;
  readonly #sql: (values: string) => string;

  /** @param sql makes the statement around its list of rows, "(?, ?), (?, ?)". */
  constructor(db: Database, columns: number, sql: (values: string) => string) {
    this.#db = db;
    this.#columns = columns;
    this.#sql = sql;
  }

  /** @param values as many as the columns of some rows, at least one and at most INSERT_ROWS rows. */
  run(values: Value[]): RunResult {
    return this.#statement(values).run(...values);
  }

  all(values: Value[]): Answer[] {
    return this.#statement(values).all(...values);
  }

  #statement(values: readonly Value[]): Statement<Value[], Answer> {
    const rows = values.length / this.#columns;
    this.#prepared[rows] ??= this.#prepare(rows);
    return this.#prepared[rows];
  }

  #prepare(rows: number): Statement<Value[], Answer> {
    const row = `(${Array(this.#columns).fill('?').join(', ')})`;
    return this.#db.prepare(this.#sql(Array(rows).fill(row).join(', ')));
  }
}

/** @returns `items` in order, in lists of at most INSERT_ROWS. */
export function inRows<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length <= INSERT_ROWS) return items.length === 0 ? [] : [items];
  const lists: Item[][] = [];
  for (let at = 0; at < items.length; at += INSERT_ROWS) lists.push(items.slice(at, at + INSERT_ROWS));
  return lists;
}
