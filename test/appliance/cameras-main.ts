import { Camera, Tally } from './camera.ts';
import type { ShiftOrder, ShiftReport } from './shift.ts';

/** Cameras in a process of their own, in the network of the box; orders and reports go through the IPC channel. */

const LOOK_MS = 20;

process.once('message', (order: ShiftOrder) => void work(order));
// Who gave the orders is gone.
process.once('disconnect', () => process.exit(1));

async function work({ token, cameras: orders }: ShiftOrder): Promise<void> {
  const tally = new Tally();
  const cameras = orders.map((order) => new Camera(order, token, tally));
  const report = (isOver: boolean): void => {
    const acknowledged = cameras.map(({ order, acknowledged }) => ({ ...pick(order), acknowledged }));
    const { requests, slowestMs, failures, lies } = tally;
    const all: ShiftReport = {
      madeAt: Date.now(),
      isOver,
      acknowledged,
      requests,
      slowestMs,
      failures,
      lies,
    };
    process.send?.(all);
  };
  const timer = setInterval(report, LOOK_MS, false);
  process.once('message', () => {
    for (const camera of cameras) camera.stop();
  });
  await Promise.all(cameras.map((camera) => camera.run()));
  clearInterval(timer);
  report(true);
  process.disconnect?.();
}

function pick({ session, camera }: { session: string; camera: string }) {
  return { session, camera };
}
