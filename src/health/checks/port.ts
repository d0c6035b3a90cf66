import { once } from 'node:events';
import net from 'node:net';
import { CHECK_AGENT, requestAnswer } from '../../base/httpAnswer.ts';
import { PORT } from '../../base/limits.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { type Listening, listening } from '../../host/listening.ts';
import { portHolder } from '../../host/portHolder.ts';
import { fail, ok, warn } from '../finding.ts';
import { problem } from '../problemTexts.ts';
import { type Check, together } from './check.ts';

const ANSWER_MS = 5_000;
/** For whoever sends a byte now and then. */
const LIMITS = { wholeMs: 2 * ANSWER_MS, chars: 64 * 1024 } as const;

export const port: Check = {
  name: 'port',
  look: async (box) => {
    const look = await box.database().catch(() => undefined);
    if (look?.isServed === false) {
      const stopped = problem('daemon_stopped');
      const { port } = await listening(box, undefined);
      const holder = asCaller(() => portHolder(port));
      // systemd itself has it where all is well.
      const isTaken = holder !== undefined && !/\(process 1\)/.test(holder);
      const taken = fail(`Its port ${port} is taken: ${holder}.`, 'End that program first.');
      return together([stopped, isTaken && box.unit !== undefined ? taken : undefined], stopped);
    }
    const daemon = await box.daemon();
    const told = await listening(box, daemon);
    const at = { ...told, host: reachable(told.host), port: told.port || PORT };
    const place = `${net.isIPv6(at.host) ? `[${at.host}]` : at.host}:${at.port}`;
    const answer = await (daemon === undefined ? ask(at) : knock(at));
    if (answer === 'courtd') return ok(`${place} answers from here.`);
    const holder = answer === 'another' ? asCaller(() => portHolder(at.port)) : undefined;
    const message = `${SENTENCES[answer](place)}${holder === undefined ? '' : ` The port is held by ${holder}.`}`;
    if (at.isKnown) return fail(message, ADVICE[answer]);
    return warn(
      `${message} Where this courtd listens, this command cannot tell.`,
      `Run "COURTD_PORT=... courtd check" with the port that courtd was started with, should that not be ${at.port}.`,
    );
  },
};

type Answer = 'courtd' | 'nothing' | 'silence' | 'another';

const SENTENCES: Readonly<Record<Exclude<Answer, 'courtd'>, (place: string) => string>> = {
  nothing: (place) => `Nothing answers at ${place}.`,
  silence: (place) => `${place} takes a connection and does not answer within ${ANSWER_MS / 1000} s.`,
  another: (place) => `What answers at ${place} is not courtd as it is set up here.`,
};

const ADVICE: Readonly<Record<Exclude<Answer, 'courtd'>, string>> = {
  nothing: 'Look at "systemctl status courtd.socket courtd", and at the firewall of this machine.',
  silence: 'Look at "journalctl -u courtd", and whether the disk hangs ("sudo dmesg").',
  another: 'Look who has the port: "sudo ss -ltnp". With TLS just set or taken away, restart courtd.',
};

/** The address by which a program on this machine gets there. */
function reachable(host: string): string {
  if (host === '' || host === '*' || host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** Connects to a daemon that is there, and ends without a request, which it would count as one of a camera that it refused. */
async function knock({ host, port }: Listening): Promise<Answer> {
  const socket = net.connect({ host, port, timeout: ANSWER_MS });
  socket.once('timeout', () => socket.destroy(Object.assign(new Error('no end'), { code: 'ETIMEDOUT' })));
  try {
    await once(socket, 'connect');
    await once(socket.resume().end(), 'close');
    return 'courtd';
  } catch (error) {
    return failure(error as NodeJS.ErrnoException);
  }
}

/** Sends a request without a token: only courtd refuses it in its own words. */
async function ask({ host, port, isTls }: Listening): Promise<Answer> {
  const options = {
    protocol: isTls ? 'https:' : 'http:',
    host,
    port,
    path: '/v1/events',
    method: 'POST',
    agent: false,
    headers: { 'User-Agent': CHECK_AGENT },
    timeout: ANSWER_MS,
    // Who it is, a check of the certificate tells; here it is whether it answers.
    rejectUnauthorized: false,
  };
  try {
    const { status, headers } = await requestAnswer(options, undefined, LIMITS);
    return status === 401 && /realm="courtd"/.test(headers['www-authenticate'] ?? '') ? 'courtd' : 'another';
  } catch (error) {
    return failure(error as NodeJS.ErrnoException);
  }
}

function failure({ code, syscall }: NodeJS.ErrnoException): Answer {
  if (code === 'ETIMEDOUT' && syscall === undefined) return 'silence';
  return syscall === 'connect' || code === 'ENOTFOUND' ? 'nothing' : 'another';
}
