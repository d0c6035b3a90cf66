import { hash } from 'node:crypto';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { clientAddress, networkOf } from '../../http/connection/clientAddress.ts';
import { answersOf, write } from './answers.ts';
import type { FaultInjector } from './faultInjector.ts';
import type { Recorder } from './recorder.ts';

/** Where the daemon listens. */
export const LOCAL = '127.0.0.1';
const SOCKET = { allowHalfOpen: true, noDelay: true } as const;

/**
 * Stands between cameras and a daemon. What a camera sends is passed on as it comes, so that the daemon itself judges all of it:
 * broken HTTP, pipelining, a body without an end. Its answers come back as they are, but for a 202 that gets a fault instead.
 */
export class RecordingProxy {
  readonly #recorder: Recorder;
  readonly #daemonPort: number;
  readonly #faults: FaultInjector;
  readonly #server = net.createServer(SOCKET, (camera) => this.#serve(camera));
  readonly #cameras = new Set<Socket>();

  constructor(recorder: Recorder, faults: FaultInjector, daemonPort: number) {
    this.#recorder = recorder;
    this.#faults = faults;
    this.#daemonPort = daemonPort;
  }

  /** @returns the port. @throws Node's error of listen(2), such as EADDRINUSE. */
  async listen(host: string, port: number): Promise<number> {
    await once(this.#server.listen(port, host), 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    for (const camera of this.#cameras) camera.destroy();
  }

  async #serve(camera: Socket): Promise<void> {
    const to = { host: LOCAL, port: this.#daemonPort, localAddress: localAddressFor(camera) };
    const daemon = net.connect({ ...to, ...SOCKET });
    // What fails is the end of the answers, or comes after it.
    daemon.on('error', () => {});
    const daemonClosed = new Promise((resolve) => daemon.once('close', resolve));
    const { input, record, pending } = this.#recorder.connect();
    this.#cameras.add(camera);
    const endedByCamera = () => {
      // It may give up on an answer that is delayed on purpose.
      record.endedBy ??= pending[0]?.exchange?.fault === undefined ? 'camera' : 'box';
    };
    camera.once('end', endedByCamera).once('error', endedByCamera);
    camera.once('error', () => daemon.resetAndDestroy());
    camera.once('close', () => {
      this.#cameras.delete(camera);
      daemon.destroy();
      input.destroy();
      for (const request of pending) this.#recorder.read(request);
    });
    camera.on('data', (chunk) => input.push(chunk));
    camera.pipe(daemon);
    try {
      const chunks = daemon.iterator({ destroyOnReturn: false });
      for await (const answer of answersOf(chunks, () => pending[0]?.method !== 'HEAD')) {
        const read = answer.status < 200 ? undefined : this.#recorder.read(pending[0], answer);
        if (read === undefined) await write(camera, answer.bytes);
        else await this.#faults.answer(camera, record, read, answer);
        if (answer.status >= 200) pending.shift();
      }
      record.endedBy ??= 'box';
      camera.end();
      await daemonClosed;
      camera.destroySoon();
    } catch {
      record.endedBy ??= 'box';
      camera.resetAndDestroy();
    }
  }
}

/** @returns an address of this machine for each network of cameras: the daemon's limits count by it. */
function localAddressFor({ remoteAddress = '' }: Socket): string {
  const [a, b, c] = hash('sha1', networkOf(clientAddress(remoteAddress)), 'buffer');
  return `127.${a}.${b}.${c}`;
}
