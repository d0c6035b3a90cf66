import fs from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { BATCH_EVENTS } from '../../src/base/limits.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import type { CourtEvent } from '../../src/protocol/event.ts';
import { atMost } from './bars.ts';
import { matches } from './matches.ts';
import type { Section } from './section.ts';
import { sealAll, seed } from './seed.ts';

/** The size of an event on disk, indexes included, after all keys have moved to the file. */

const EVENTS = 200_000;
const SESSIONS = 44;

export const footprint: Section = {
  name: 'size',
  async run(ground) {
    const files = ground.options.events;
    const directory = ground.empty('size');
    const events = await seed(directory, files ? batches(files) : matches('size', EVENTS, SESSIONS));
    sealAll(directory);
    const source = files ? 'the given files' : 'generated matches';
    return [
      atMost(
        `Size of an event of ${source}, indexes included`,
        directoryBytes(directory) / events,
        250,
        'bytes',
      ),
    ];
  },
};

function* batches(files: readonly string[]): Generator<CourtEvent[]> {
  for (const file of files) {
    const bytes = fs.readFileSync(file);
    const lines = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().trimEnd().split('\n');
    for (let at = 0; at < lines.length; at += BATCH_EVENTS) {
      yield decodeBatch(Buffer.from(`[${lines.slice(at, at + BATCH_EVENTS).join(',')}]`));
    }
  }
}

export function directoryBytes(directory: string): number {
  let bytes = 0;
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += fs.statSync(path.join(entry.parentPath, entry.name)).size;
  }
  return bytes;
}
