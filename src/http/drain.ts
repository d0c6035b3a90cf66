import { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { DRAIN_BYTES, DRAIN_MS, DRAINED_PER_TURN } from '../protocol/limits.ts';
import { free } from './free.ts';

type Source = IncomingMessage | Duplex;

/** Those that have given a part and wait to give the next one. */
const waiting: Source[] = [];

/**
 * Reads on what was refused and forgets it, up to DRAIN_BYTES or DRAIN_MS; then `done`, once. One part of it at a time and
 * of few in one turn of the event loop: two hundred large bodies that are refused together would fill each turn, and a
 * camera's request takes several.
 */
export function drain(source: Source, done: () => void): void {
  let left = DRAIN_BYTES;
  const timer = setTimeout(stop, DRAIN_MS);
  function onData(part: Buffer): void {
    left -= part.length;
    if (source instanceof IncomingMessage) free(part);
    if (left < 0) return stop();
    source.pause();
    if (waiting.push(source) === 1) setImmediate(turn);
  }
  function finish(): void {
    clearTimeout(timer);
    source.off('data', onData).off('end', finish).off('close', finish).off('error', finish);
    done();
  }
  function stop(): void {
    finish();
    source.destroy();
  }
  source.on('data', onData).on('end', finish).on('close', finish).on('error', finish);
  source.resume();
}

function turn(): void {
  for (const source of waiting.splice(0, DRAINED_PER_TURN)) source.resume();
  if (waiting.length > 0) setImmediate(turn);
}
