import { setTimeout as sleep } from 'node:timers/promises';
import { BoxClient } from '../harness/boxClient.ts';
import { event } from '../harness/events.ts';
import { PORT } from './camera.ts';
import type { PlayingCamera } from './playing.ts';

/** One camera of a court that plays, in the network of the box: its events happen now. */

const EVERY_MS = 400;

const { camera, court, address, token, noteBytes }: PlayingCamera = JSON.parse(process.argv[2]!);
const payload = { x_ft: 12.5, note: 'x'.repeat(noteBytes) };
const client = new BoxClient(PORT, address);
for (;;) {
  const eot = new Date().toISOString();
  const body = JSON.stringify([event({ source: camera, court_id: court, eot, payload })]);
  // Whatever the answer is: whether the box takes its events, the box is asked.
  await client.post(token, body).catch(() => {});
  await sleep(EVERY_MS);
}
