import { Random } from '../../src/cli/simulate/random.ts';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';

/** A made-up doubles match of pickleball, the same each time, for the picture of a report. */

export const SESSION = 'club-night-2026-03-14-court-2';
const START_MS = Date.UTC(2026, 2, 14, 18, 30);
const RALLIES = 150;
const [WIDTH, LENGTH, NET] = [20, 44, 22];

/** How a shot lands: distance behind the net in feet, its spread, and the speed in km/h. */
interface Shot {
  readonly name: string;
  readonly depth: number;
  readonly spread: number;
  readonly kmh: number;
}
const SERVE: Shot = { name: 'serve', depth: 17.5, spread: 2.2, kmh: 58 };
const RETURN: Shot = { name: 'return', depth: 18, spread: 2.4, kmh: 52 };
const THIRDS: readonly Shot[] = [
  { name: 'drop', depth: 4.5, spread: 2.2, kmh: 34 },
  { name: 'drive', depth: 15.5, spread: 3.5, kmh: 66 },
];
const RALLY: readonly Shot[] = [
  { name: 'dink', depth: 4, spread: 1.7, kmh: 24 },
  { name: 'dink', depth: 4, spread: 1.7, kmh: 24 },
  { name: 'drop', depth: 5, spread: 2, kmh: 33 },
  { name: 'drive', depth: 15.5, spread: 3.5, kmh: 64 },
  { name: 'lob', depth: 18.5, spread: 2.6, kmh: 38 },
  { name: 'smash', depth: 16, spread: 3.6, kmh: 78 },
];
const PLAYERS = ['amara', 'ben', 'chiara', 'dev'] as const;

/** @returns its events in the order in which cameras would send them. */
export function match(): WireEvent[] {
  const random = new Random(20260314);
  const next = () => random.next();
  const about = (mean: number, spread: number) =>
    mean + spread * (next() + next() + next() + next() - 2) * 1.7;
  const rounded = (value: number) => Math.round(value * 100) / 100;
  const confidence = (mean: number, spread: number) => rounded(Math.min(1, Math.max(0, about(mean, spread))));
  const events: WireEvent[] = [];
  let atMs = START_MS;
  const send = (type: WireEvent['type'], source: string, payload: object, isRevised = false) => {
    const event: WireEvent = {
      event_id: `e-${String(events.length).padStart(6, '0')}`,
      session_id: SESSION,
      venue_id: 'riverside',
      court_id: 'court-2',
      eot: new Date(atMs).toISOString(),
      type,
      confidence: isRevised ? confidence(0.58, 0.15) : confidence(0.92, 0.05),
      source,
      schema_version: '1.0',
      revision: 0,
      payload,
    };
    events.push(event);
    if (isRevised) events.push({ ...event, revision: 1, confidence: confidence(0.94, 0.04) });
  };
  /** @param side 0 for y below the net. */
  const positions = (side: number, hitsLob: boolean) => {
    for (const [i, player_id] of PLAYERS.entries()) {
      const own = i % 2;
      const back = next() < 0.35 || (hitsLob && own !== side) ? about(20, 2) : about(8, 1.3);
      const x = about(i < 2 ? 5.5 : 14.5, 2.2);
      send('PLAYER_POSITION', 'court-2-cam-2', {
        player_id,
        x_ft: rounded(x),
        y_ft: rounded(own === 0 ? NET - back : NET + back),
      });
    }
  };
  for (const player_id of PLAYERS) send('PLAYER_IDENTITY', 'court-2-cam-1', { player_id });
  for (let rally = 0; rally < RALLIES; rally++) {
    let side = rally % 2;
    for (let stroke = 0; ; stroke++) {
      const shots = stroke === 2 ? THIRDS : RALLY;
      const shot = stroke === 0 ? SERVE : stroke === 1 ? RETURN : shots[Math.floor(next() * shots.length)]!;
      send(
        'BALL_HIT',
        'court-2-cam-1',
        { player_id: PLAYERS[side + 2 * Math.floor(next() * 2)], shot_type: shot.name },
        true,
      );
      positions(side, shot.name === 'lob');
      send('BALL_SPEED', 'court-2-radar', {
        kmh: Math.round(10 * Math.max(8, about(shot.kmh, shot.kmh / 6))) / 10,
      });
      atMs += 600 + Math.floor(500 * next());
      const depth = about(shot.depth, shot.spread);
      const [x, y] = [about(next() < 0.5 ? 6 : 14, 3), side === 0 ? NET + depth : NET - depth];
      const isIn = x >= 0 && x <= WIDTH && y >= 0 && y <= LENGTH && depth > 0;
      // Balls at the net are mostly taken in the air.
      const bounces = stroke < 2 || !isIn || next() < 0.5;
      if (bounces)
        send('BALL_BOUNCE', 'court-2-cam-1', { x_ft: rounded(x), y_ft: rounded(y), is_in: isIn }, true);
      if (!isIn || (stroke > 2 && next() < 0.16)) break;
      atMs += 250 + Math.floor(300 * next());
      side = 1 - side;
    }
    atMs += 9_000 + Math.floor(9_000 * next()) + (rally % 50 === 49 ? 150_000 : 0);
  }
  return events;
}
