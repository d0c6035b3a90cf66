import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { event } from '../harness/events.ts';
import { BOX } from './camera.ts';
import type { PlayingCamera } from './playing.ts';

/** One camera of a court that plays, in the network of the box: its events happen now. */

const EVERY_MS = 400;

const { camera, court, address, token, noteBytes }: PlayingCamera = JSON.parse(process.argv[2]!);
const payload = { x_ft: 12.5, note: 'x'.repeat(noteBytes) };
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
for (;;) {
  const eot = new Date().toISOString();
  await post(JSON.stringify([event({ source: camera, court_id: court, eot, payload })]));
  await sleep(EVERY_MS);
}

/** Whatever the answer is: whether the box takes its events, the box is asked. */
function post(body: string): Promise<void> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const options = { ...BOX, localAddress: address, path: '/v1/events', method: 'POST', headers, agent };
    const request = http.request(options, (response) => {
      response.resume().once('close', resolve);
    });
    request.once('error', () => resolve());
    request.end(body);
  });
}
