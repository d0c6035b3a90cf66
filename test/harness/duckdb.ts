import { DuckDBInstance } from '@duckdb/node-api';

/** @returns DuckDB's answer to a query, each value in the form of JSON. */
export async function askDuckDb(sql: string) {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}
