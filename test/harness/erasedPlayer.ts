import fs from 'node:fs';
import path from 'node:path';
import type { Daemon } from './daemon.ts';
import { event } from './events.ts';

/** A player who is erased, and another who is not. */

export const ANNA = 'p-anna-kowalska';
export const BEA = 'p-bea-lindqvist';
export const NAME = 'Anna Kowalska-Example';

/** A rally of two, as cameras tell it. @param at the minute of the hour. */
export function rally(session: string, at = 0): ReturnType<typeof event>[] {
  const one = (type: string, payload: object, more: object = {}) =>
    event({
      session_id: session,
      type,
      payload,
      eot: `2026-03-14T14:${String(at).padStart(2, '0')}:00Z`,
      ...more,
    });
  return [
    one('PLAYER_IDENTITY', { player_id: ANNA, display_name: NAME }),
    one('PLAYER_IDENTITY', { player_id: BEA }),
    one('PLAYER_POSITION', { player_id: ANNA, x_ft: 1, y_ft: 2 }, { jersey: 7 }),
    one('PLAYER_POSITION', { player_id: BEA, x_ft: 3, y_ft: 4, nearest: ANNA }),
    one('BALL_HIT', { player_id: ANNA, shot_type: 'drive' }),
    one('BALL_HIT', { player_id: BEA, shot_type: 'lob', from: [ANNA] }, { rally: { server: ANNA } }),
    one('BALL_SPEED', { kmh: 70 }),
  ];
}

/** @returns the files of a folder that contain a text, in any spelling of JSON. */
export function filesWith(folder: string, text: string): string[] {
  const files = fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map(({ name }) => name)
    .filter((name) => fs.readFileSync(path.join(folder, name)).includes(text));
}

/** @returns the receipt. */
export async function erase(
  daemon: Daemon,
  player: string,
  ...more: string[]
): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await daemon.command(
    'player',
    'erase',
    player,
    '--yes',
    '--json',
    ...more,
  );
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

export const eraseAnna = (daemon: Daemon, ...more: string[]) => erase(daemon, ANNA, ...more);
