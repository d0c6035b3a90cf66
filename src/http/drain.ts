import type { Duplex } from 'node:stream';
import { DRAIN_BYTES, DRAIN_MS } from '../protocol/limits.ts';
import { free } from './free.ts';
import { readLater, readOn } from './hold.ts';
import { CourtRequest } from './request.ts';

/**
 * Reads on what was refused and forgets it, up to DRAIN_BYTES or DRAIN_MS; then `done`, once. A little in each turn of the
 * event loop: two hundred large bodies that are refused together would fill it, and a camera's request takes several turns.
 * @param source a request, or a connection whose parser is gone.
 */
export function drain(source: CourtRequest | Duplex, done: () => void): void {
  const socket = source instanceof CourtRequest ? source.socket : source;
  let left = DRAIN_BYTES;
  const timer = setTimeout(stop, DRAIN_MS);
  function onData(bytes: Buffer): void {
    left -= bytes.length;
    if (left < 0) stop();
    else readLater(socket, 1);
  }
  function part(bytes: Buffer): boolean {
    onData(bytes);
    free(bytes);
    return true;
  }
  function finish(): void {
    clearTimeout(timer);
    if (source instanceof CourtRequest) source.readBy(undefined);
    source.off('data', onData).off('end', finish).off('close', finish).off('error', finish);
    done();
  }
  function stop(): void {
    finish();
    source.destroy();
  }
  if (source instanceof CourtRequest) source.readBy({ part, end: finish });
  else source.on('data', onData).on('end', finish);
  source.on('close', finish).on('error', finish);
  readOn(socket);
}
