import net from 'node:net';

/** Where courtd listens, and what it lets in. */
export interface Target {
  readonly port: number;
  readonly token: string;
}

/** What each of many does with its connection. */
export interface Behaviour {
  readonly size: number;
  /** Whether answers are read. */
  readonly isReading?: boolean;
  /** The connection is there. */
  open(socket: net.Socket, index: number): void;
  answered?(socket: net.Socket, index: number): void;
}

/** Less than courtd takes of one address. */
const OF_ONE_ADDRESS = 250;
/** Connections opened at a time: more would only wait in the kernel's queue. */
const OPENED_AT_A_TIME = 50;
const OPENING_MS = 50;
const AGAIN_MS = 200;

/** Keeps as many connections as are asked for: one that ends is opened again. @returns once all have been opened. */
export async function gather(port: number, behaviour: Behaviour): Promise<void> {
  for (let index = 0; index < behaviour.size; index++) {
    openOne(port, behaviour, index);
    if (index % OPENED_AT_A_TIME === 0) await new Promise((resolve) => setTimeout(resolve, OPENING_MS));
  }
}

function openOne(port: number, behaviour: Behaviour, index: number): void {
  // All of 127.0.0.0/8 is this machine.
  const localAddress = `127.0.1.${1 + Math.floor(index / OF_ONE_ADDRESS)}`;
  const socket = net.connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
  socket.on('error', () => {});
  socket.once('close', () => setTimeout(() => openOne(port, behaviour, index), AGAIN_MS));
  socket.once('connect', () => behaviour.open(socket, index));
  // Before it is connected: Node would begin to read by itself.
  if (behaviour.isReading === false) socket.pause();
  else socket.on('data', () => behaviour.answered?.(socket, index));
}
