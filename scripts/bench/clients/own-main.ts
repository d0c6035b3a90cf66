import { once } from 'node:events';
import net from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import { Traffic } from '../traffic.ts';
import { isAccepted, parseAnswer } from './answer.ts';
import { type Order, type Outcome, requestHead } from './client.ts';

/** The process of `own.ts`: sends one order, counts what was accepted, prints the outcome. */

const order = JSON.parse(process.argv[2]!) as Order;
const head = requestHead(order.target);
const traffic = new Traffic(order.target.wording, order.run, order.before, order.oneSession);
const latenciesUs = createHistogram();
let requests = 0;
let failures = 0;

const sockets = await Promise.all(Array.from({ length: order.connections }, connect));
const startedAt = performance.now();
const endAt = startedAt + order.seconds * 1000;
await Promise.all(sockets.map(sendUntilTheEnd));
const outcome: Outcome = {
  requests,
  seconds: (performance.now() - startedAt) / 1000,
  p50Us: latenciesUs.percentile(50),
  p99Us: latenciesUs.percentile(99),
  failures,
};
process.stdout.write(`${JSON.stringify(outcome)}\n`);

async function connect(): Promise<net.Socket> {
  const socket = net.connect({ port: order.target.port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket.setEncoding('latin1');
}

function sendUntilTheEnd(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => {
    let sentAt = 0;
    let received = '';
    const send = () => {
      const body = traffic.next(order.events);
      sentAt = performance.now();
      socket.write(`${head}${body.length}\r\n\r\n${body}`, 'latin1');
    };
    socket.on('data', (text: string) => {
      received += text;
      const answer = parseAnswer(received);
      if (answer === undefined) return;
      received = '';
      latenciesUs.record(Math.max(1, Math.round((performance.now() - sentAt) * 1000)));
      if (isAccepted(answer, order.events)) requests++;
      else failures++;
      if (performance.now() < endAt) return send();
      socket.end();
      resolve();
    });
    socket.on('error', () => failures++);
    socket.on('close', resolve);
    send();
  });
}
