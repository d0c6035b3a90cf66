import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { type CheckResult, type Finding, fail, ok, warn } from '../../health/finding.ts';
import { chunkHead, STREAM, sourceOf } from '../nats/fleetLog.ts';
import { type Break, Chains } from './chain.ts';
import { type Monitored, readMonitors } from './monitor.ts';
import { readStream } from './readStream.ts';
import { Retries } from './retries.ts';
import {
  type Difference,
  differences,
  findStream,
  inWords,
  LOG,
  REPLICAS,
  STATUS,
  type StreamPlan,
  undeletable,
} from './streams.ts';

/** Before it, compare-and-set was not serial in a cluster: two chunks could get the same place in the chain. */
const VERSION_LEAST = [2, 11] as const;
/** A chunk of 512 KiB before it is packed, and its headers, whatever it is packed to. */
const PAYLOAD_LEAST = 1024 * 1024;
/** At most this many faults are listed; those of one missing message count as one. */
const BREAKS_TOLD = 50;
const NEARLY_FULL = 0.9;
/** Settings that take away, or lose with the power, what has been acknowledged. */
const LOSING = ['storage', 'retention', 'max_age', 'max_msgs_per_subject'];

const AGAIN = 'Fix that, and run this again.';
const GUIDE = 'The guide FLEET.md has a configuration that does.';

/**
 * Checks that headquarters keeps what it acknowledges, and that the log of every box is complete.
 * @param monitors addresses of monitoring ports, `http://HOST:8222`.
 * @param progress called now and then with the chunks read so far.
 */
export async function checkFleet(
  nc: NatsConnection,
  monitors: readonly string[],
  progress: (chunks: number) => void,
): Promise<CheckResult[]> {
  const retries = new Retries();
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  const servers = await readMonitors(monitors);
  const [log, status] = [await streamInfo(jsm, LOG, retries), await streamInfo(jsm, STATUS, retries)];
  const peers = peersOf(nc, log);
  const found: readonly (readonly [name: string, findings: readonly Finding[]])[] = [
    ['monitor', unreadable(servers, peers)],
    ['version', [version(nc, servers)]],
    ['sync', [sync(servers)]],
    ['replicas', [replicas(log, peers.length)]],
    ['stream', [shape(LOG, log)]],
    ['status_stream', [shape(STATUS, status)]],
    ['limits', limits(nc, log, servers)],
    ['chain', await chains(nc, log, progress)],
  ];
  return found.flatMap(([name, findings]) => findings.map((finding) => ({ name, ...finding })));
}

type Found = StreamInfo | { readonly fault: string; readonly advice: string };

async function streamInfo(jsm: JetStreamManager, plan: StreamPlan, retries: Retries): Promise<Found> {
  const advice = 'Run "courtd fleet init": it makes the streams.';
  try {
    const found = await retries.until(() => findStream(jsm, plan));
    return found ?? { fault: `There is no stream ${plan.name}.`, advice };
  } catch (error) {
    if (error instanceof OperatorError) return { fault: error.message, advice: AGAIN };
    throw error;
  }
}

/** @returns the names of the servers that hold the log, as far as it says. */
function peersOf({ info }: NatsConnection, log: Found): string[] {
  if ('fault' in log || log.cluster?.leader === undefined)
    return info === undefined ? [] : [info.server_name];
  return [log.cluster.leader, ...(log.cluster.replicas ?? []).map(({ name }) => name)];
}

/** What cannot be read is a failure: nobody knows that it is right. */
function unreadable(servers: readonly Monitored[], peers: readonly string[]): Finding[] {
  const open =
    'Open the monitoring port in the configuration of each server ("http: 127.0.0.1:8222", reachable from here and closed to the internet), ' +
    'and name all of them: --monitor http://HOST:8222,…';
  const results = servers
    .filter(({ fault }) => fault !== undefined)
    .map(({ url, fault }) =>
      fail(
        `Cannot read ${url}: ${fault}. So it is unknown whether that server keeps what it acknowledges.`,
        open,
      ),
    );
  const unseen = peers.filter((peer) => !servers.some(({ name }) => name === peer));
  // Servers that could not be read are reported above, and `sync` says so where none is named.
  if (servers.length > 0 && unseen.length > results.length) {
    const which = unseen.length === 1 ? `the server ${unseen[0]}` : `the servers ${unseen.join(', ')}`;
    results.push(
      fail(
        `The monitoring port of ${which} was not given, so its sync_interval is unknown: what it acknowledges could be lost.`,
        open,
      ),
    );
  }
  return results;
}

function version({ info }: NatsConnection, servers: readonly Monitored[]): Finding {
  const all = [
    { name: info?.server_name, version: info?.version },
    ...servers.filter(({ fault }) => fault === undefined),
  ];
  const old = all.filter(({ version = '0' }) => isOlder(version, VERSION_LEAST));
  const least = VERSION_LEAST.join('.');
  if (old.length === 0) return ok(`Every server is ${least} or newer (${info?.version}).`);
  const which = [...new Set(old.map(({ name, version }) => `${name} (${version})`))].join(', ');
  return fail(
    `Too old: ${which}. Before ${least} two chunks of one box can get the same place in a cluster, and what was acknowledged is lost.`,
    `Upgrade to ${least} or newer.`,
  );
}

function isOlder(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number);
  return ownMajor < major || (ownMajor === major && ownMinor < minor);
}

function sync(servers: readonly Monitored[]): Finding {
  const read = servers.filter(({ fault }) => fault === undefined);
  const without = read.filter(({ hasJetStream }) => !hasJetStream);
  const lax = read.filter(({ hasJetStream, syncAlways }) => hasJetStream && !syncAlways);
  if (lax.length > 0) {
    const names = lax.map(({ name }) => name).join(', ');
    return fail(
      `${names} acknowledges before it syncs: sync_interval is not "always". When the power goes, what was acknowledged is lost.`,
      `Set "sync_interval: always" in the jetstream block of each server, and restart them one after another. ${GUIDE}`,
    );
  }
  if (read.length === without.length) {
    return fail(
      'No server says what its sync_interval is: what was acknowledged could be lost when the power goes.',
      'Name the monitoring port of every server with JetStream: --monitor http://HOST:8222,…',
    );
  }
  return ok(
    `${read.length - without.length} of ${servers.length} servers given sync before they acknowledge (sync_interval: always).`,
  );
}

function replicas(log: Found, peers: number): Finding {
  if ('fault' in log) return fail(log.fault, log.advice);
  const { num_replicas } = log.config;
  const late = (log.cluster?.replicas ?? []).filter(({ current, offline }) => !current || offline);
  if (num_replicas < REPLICAS) {
    return warn(
      `The log has ${num_replicas === 1 ? 'one copy' : `${num_replicas} copies`}: if its disk fails, the events that boxes have pruned are lost.`,
      'Run three servers as a cluster, and "courtd fleet init" again: it adds the copies.',
    );
  }
  if (late.length > 0) {
    const names = late.map(({ name, offline }) => `${name} is ${offline ? 'offline' : 'behind'}`).join(', ');
    return warn(
      `${names}: until it catches up, the log survives the loss of one server fewer.`,
      'Check that this server is running and reaches the others.',
    );
  }
  return ok(`The log has ${num_replicas} copies, all of them current, on ${peers} servers.`);
}

function shape(plan: StreamPlan, info: Found): Finding {
  if ('fault' in info) return fail(info.fault, info.advice);
  const found = differences(plan, info);
  const isAsync = info.config.persist_mode === 'async';
  if (found.length === 0 && !isAsync) {
    const remark = undeletable(info);
    return remark ? warn(remark.message, remark.advice) : ok(`${plan.name} is as it should be.`);
  }
  const advice = `Set it with NATS's own program ("nats stream edit ${plan.name}"), and run this again.`;
  const words = [inWords(found), ...(isAsync ? ['persist_mode is async'] : [])].filter(Boolean).join(', ');
  const losing = plan === LOG && (isAsync || found.some((one) => isLosing(one, found)));
  return losing
    ? fail(`${plan.name} loses what was acknowledged: ${words}.`, advice)
    : warn(`${plan.name} is not as "courtd fleet init" makes it: ${words}.`, advice);
}

function isLosing({ setting, is }: Difference, all: readonly Difference[]): boolean {
  if (LOSING.includes(setting)) return true;
  const isBounded = all.some(({ setting }) => setting === 'max_msgs' || setting === 'max_bytes');
  return setting === 'discard' && is === 'old' && isBounded;
}

function limits({ info }: NatsConnection, log: Found, servers: readonly Monitored[]): Finding[] {
  const found: Finding[] = [];
  const payload = info?.max_payload ?? 0;
  if (payload < PAYLOAD_LEAST) {
    found.push(
      warn(
        `max_payload is ${payload} bytes: chunks that are larger are split, and an event that is larger is not shipped.`,
        'Set "max_payload: 8MB" in the configuration of each server: an event has at most 8 MiB.',
      ),
    );
  }
  if (!('fault' in log) && isNearlyFull(log.state.bytes, log.config.max_bytes)) {
    found.push(
      warn(
        `The log is ${percent(log.state.bytes, log.config.max_bytes)} % full (max_bytes ${log.config.max_bytes}): when it is full, it refuses new events and boxes wait.`,
        'Raise max_bytes, or set it to -1.',
      ),
    );
  }
  for (const { name, storage: { used, most } = { used: 0, most: 0 } } of servers) {
    if (!isNearlyFull(used, most)) continue;
    found.push(
      warn(
        `The storage of ${name} is ${percent(used, most)} % full (max_file_store ${most}): when it is full, the log refuses new events and boxes wait.`,
        'Give that server a larger disk, or raise max_file_store in its jetstream block where the disk has room, and restart it.',
      ),
    );
  }
  if (found.length > 0) return found;
  return [ok(`Messages may have up to ${payload} bytes, and only the disk limits the log.`)];
}

/** @param most -1 or 0: there is no limit. */
function isNearlyFull(used: number, most: number): boolean {
  return most > 0 && used > NEARLY_FULL * most;
}

function percent(used: number, most: number): number {
  return Math.floor((100 * used) / most);
}

async function chains(
  nc: NatsConnection,
  log: Found,
  progress: (chunks: number) => void,
): Promise<Finding[]> {
  if ('fault' in log) return [fail('There is no log that could be read.', log.advice)];
  const chains = new Chains(undeletable(log) === undefined);
  const told: Finding[] = [];
  const counts = { ok: 0, warn: 0, fail: 0 };
  try {
    for await (const { subject, seq, headers, data } of readStream(nc, { stream: STREAM })) {
      for (const one of chains.add(sourceOf(subject), seq, chunkHead(headers), data)) {
        const finding = breakFinding(one);
        if (++counts[finding.level] <= BREAKS_TOLD) told.push(finding);
      }
      progress(chains.chunks);
    }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return [fail(`The log could not be read to its end. ${error.message}`, AGAIN)];
  }
  const { boxes, chunks, events } = chains;
  const doubles = [...chains.doubles].map((box) =>
    warn(
      `Two machines ship as ${box}: an epoch of it went on after a newer one had begun.`,
      `Find the other one: a box that was replaced and still runs, or a venue with the same COURTD_SHIP_BOX. Each needs a name and credentials of its own.`,
    ),
  );
  const size = `${counted(boxes, 'box', 'boxes')}, ${chunks} chunks, ${events} events`;
  if (told.length === 0) return [ok(`The chain of every box is whole: ${size}.`), ...doubles];
  const [broken, missing] = [counts.fail - BREAKS_TOLD, counts.warn - BREAKS_TOLD];
  const advice = 'Start with the first one of each box.';
  if (missing > 0) doubles.push(warn(`${missing} more places have lost chunks. In all: ${size}.`, advice));
  if (broken > 0) doubles.push(fail(`${broken} more places are broken. In all: ${size}.`, advice));
  return [...told, ...doubles];
}

function breakFinding({ box, epoch, at, what, missing }: Break): Finding {
  if (missing !== undefined) {
    const { from, to } = missing;
    return warn(
      `Of the box ${box} seq ${from} to ${to} are missing (epoch ${epoch}, before message ${at}): they were here, and were deleted.`,
      `That is no fault of the box. If nobody here deleted them, look after the servers' disks; the box has these events until it prunes them ("courtd tail --json --after ${from - 1}" on ${box}).`,
    );
  }
  return fail(
    `The chain of the box ${box} is broken at message ${at} (epoch ${epoch}): ${what}.`,
    `Messages were lost, or the servers' files were restored or damaged. The box has these events until it prunes them: keep them there ("courtd tail --json" on ${box}).`,
  );
}
