import fs from 'node:fs';
import { OperatorError, reasonOf } from '../../base/operatorError.ts';
import type { Store } from '../../store/store.ts';
import { listTokens, rotateToken } from '../../store/tokens/tokens.ts';

/**
 * Reads COURTD_TOKEN_FILE while root is still root, for a box that is set up from an image.
 * @returns what adds the token to a database that never had one. It throws an OperatorError if the file holds none.
 */
export function readFirstToken(): (store: Store) => void {
  const { COURTD_TOKEN_FILE: file } = process.env;
  if (file === undefined) return () => {};
  let [token, fault] = ['', 'holds no token'];
  try {
    token = fs.readFileSync(file, 'latin1').replace(/\n$/, '');
  } catch (error) {
    fault = `cannot be read: ${reasonOf(error as NodeJS.ErrnoException)}`;
  }
  return ({ db }) => {
    if (listTokens(db).length > 0) return;
    if (/^[\w-]{32,256}$/.test(token)) return void rotateToken(db, 0, Date.now(), token);
    throw new OperatorError(
      `${file} (COURTD_TOKEN_FILE) ${fault}. Write 32 to 256 characters of A to Z, a to z, 0 to 9, "-" and "_" to it.`,
    );
  };
}
