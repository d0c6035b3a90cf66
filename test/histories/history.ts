import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { OperatorError } from '../../src/base/operatorError.ts';
import { Problem } from '../../src/protocol/errors.ts';
import { ArrivalLog, TemporarilyUnreadable } from '../../src/store/arrivalLog.ts';
import { withDatabase } from '../../src/store/open/withDatabase.ts';
import { Store, UNLOGGED } from '../../src/store/store.ts';
import { listTokens, revokeToken, rotateToken } from '../../src/store/tokens/tokens.ts';
import { Random } from '../../src/vendor/simulate/random.ts';
import { check } from './check.ts';
import type { Disk } from './disk.ts';
import { type Body, Cameras, sentOf } from './events.ts';
import { EPOCH_MS, type Image } from './image.ts';
import { Model } from './model.ts';
import type { Pairs } from './pairs.ts';
import { chanceOf, type Kind, type Life, type Operation, type Plan } from './plan.ts';
import { closeAll } from './standIns/sqlite.ts';
import { timeline } from './world.ts';

const DAY_MS = 86_400_000;
const [EIO, EAGAIN, ENOSPC] = [5, 11, 28];
/** Steps of the scheduler in a life, at most. */
const STEPS_MAX = 3000;
const AT_ONCE = 5;
/** So many things count as under way, though they have ended: the effect of a fault or of a clock is still to come. */
const RECENT = 2;

/** What came of a history. */
export interface Result {
  readonly seed: number;
  readonly violations: readonly string[];
  /** What happened, line by line. */
  readonly log: readonly string[];
  /** Of all calls to the disk. */
  readonly digest: string;
  readonly lives: number;
}

/** Plays histories on one disk, one after another. */
export class Player {
  readonly #disk: Disk;
  readonly #image: Image;
  readonly #pairs: Pairs;

  constructor(disk: Disk, image: Image, pairs: Pairs) {
    this.#disk = disk;
    this.#image = image;
    this.#pairs = pairs;
  }

  async play(plan: Plan): Promise<Result> {
    const disk = this.#disk;
    const random = chanceOf(plan.seed, 2);
    disk.begin(plan.seed);
    timeline.begin(() => random.next(), EPOCH_MS);
    const box = new Box(disk, random, this.#pairs);
    this.#image.put(box.directory);
    disk.settle();
    for (const life of plan.lives) {
      await box.live(life);
      if (box.model.violations.length > 0) break;
    }
    if (box.model.violations.length === 0)
      await box.live({ operations: [], end: 'stop', atCall: 0, isEarly: false });
    disk.kill();
    closeAll();
    timeline.clear();
    return {
      seed: plan.seed,
      violations: box.model.violations,
      log: box.log,
      digest: disk.digest,
      lives: plan.lives.length,
    };
  }
}

class Box {
  readonly model = new Model();
  readonly log: string[] = [];
  readonly #disk: Disk;
  readonly #random: Random;
  readonly #pairs: Pairs;
  readonly directory: DataDirectory;
  readonly #cameras = new Cameras();
  #store: Store | undefined;
  #tail: ArrivalLog | undefined;
  #hasFailed = false;
  /** What has been begun and has not ended. */
  readonly #running = new Map<number, Kind>();
  readonly #recent: Kind[] = [];
  #begun = 0;

  constructor(disk: Disk, random: Random, pairs: Pairs) {
    this.#disk = disk;
    this.#random = random;
    this.#pairs = pairs;
    this.directory = new DataDirectory(`${disk.root}/box`);
  }

  async live(life: Life): Promise<void> {
    this.#disk.boot();
    this.#disk.heal();
    this.#hasFailed = false;
    this.#note(`starts; ends with ${life.end}`);
    const isAtCall = life.end.endsWith('AtCall');
    if (isAtCall && life.isEarly) this.#disk.killAt(life.atCall);
    if (await this.#open()) {
      check(this.directory, this.model);
      this.#checkTokens();
      if (this.model.violations.length > 0) return;
      if (isAtCall && !life.isEarly) this.#disk.killAt(life.atCall);
      await this.#run(life.operations);
    }
    await this.#end(life.end);
  }

  async #open(): Promise<boolean> {
    let isOver = false;
    let problem: unknown;
    const on = {
      ...UNLOGGED,
      fatal: () => {
        this.#hasFailed = true;
      },
    };
    Store.open(this.directory, on).then(
      (store) => {
        this.#store = store;
        isOver = true;
      },
      (error) => {
        problem = error;
        isOver = true;
      },
    );
    for (let steps = 0; !isOver; steps++) {
      await timeline.settled();
      if (isOver) break;
      if (this.#isOver) return false;
      if (steps > STEPS_MAX) throw new Error('the store does not open');
      this.#step();
    }
    if (this.#isOver) return false;
    if (problem === undefined) return true;
    this.model.violate(`the store does not open: ${problem}`);
    return false;
  }

  get #isOver(): boolean {
    return this.#hasFailed || this.#disk.isDead;
  }

  /** One thing after another, as chance has it; with nothing to run, the time passes until something is. */
  #step(): void {
    const { immediates } = timeline;
    if (immediates.length > 0 && (timeline.timers.length === 0 || this.#random.chance(0.85)))
      timeline.runImmediate();
    else timeline.runTimer(this.#random.chance(0.1) ? this.#random.integer(0, 50) : 0);
  }

  async #run(operations: readonly Operation[]): Promise<void> {
    let next = 0;
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      await timeline.settled();
      if (this.#isOver || this.model.violations.length > 0) return;
      if (next < operations.length && this.#running.size < AT_ONCE && this.#random.chance(0.4)) {
        this.#begin(operations[next++]!);
        continue;
      }
      if (next === operations.length && this.#running.size === 0) return;
      this.#step();
    }
    if ([...this.#running.values()].some((kind) => kind === 'request'))
      this.model.violate('a request has had no answer');
  }

  async #end(end: Life['end']): Promise<void> {
    for (const kind of this.#underWay) this.#pairs.met(kind, end);
    this.#recent.length = 0;
    const isClosed = end === 'stop' && !this.#isOver && (await this.#stop());
    this.#disk.kill();
    closeAll();
    timeline.clear();
    await timeline.settled();
    this.#store = undefined;
    this.#tail = undefined;
    this.#running.clear();
    this.#note(isClosed ? 'has stopped' : 'has ended');
    this.model.crashed();
    if (end.startsWith('cut')) this.#note(`the power goes: ${this.#disk.cut()} lost`);
  }

  /** @returns whether it came to the end. */
  async #stop(): Promise<boolean> {
    this.#tail?.close();
    let isOver = false;
    this.#store?.close().then(
      () => {
        isOver = true;
      },
      (error) => this.model.violate(`the store does not close: ${error}`),
    );
    for (let steps = 0; !isOver && !this.#isOver && steps < STEPS_MAX; steps++) {
      await timeline.settled();
      if (!isOver) this.#step();
    }
    return isOver;
  }

  #note(what: string): void {
    this.log.push(`${timeline.monotonicMs.toFixed(2)} ${what}`);
  }

  /** Kinds that have been begun and have not ended, or that were begun last: some do all they do at once. */
  get #underWay(): Set<Kind> {
    return new Set([...this.#running.values(), ...this.#recent]);
  }

  #begin({ kind, seed }: Operation): void {
    const id = this.#begun++;
    for (const other of this.#underWay) this.#pairs.met(kind, other);
    this.#running.set(id, kind);
    this.#recent.push(kind);
    if (this.#recent.length > RECENT) this.#recent.shift();
    this.#note(`${kind} ${id}`);
    const done = () => {
      if (this.#running.delete(id)) this.#note(`${kind} ${id} is over`);
    };
    const failed = (error: unknown) => {
      if (!this.#isOver && !isExpected(error))
        this.model.violate(`${kind}: ${error instanceof Error ? error.stack : error}`);
      done();
    };
    this.#do(kind, new Random(seed)).then(done, failed);
  }

  async #do(kind: Kind, random: Random): Promise<void> {
    const nowMs = timeline.wallMs();
    switch (kind) {
      case 'request':
        return this.#send(this.#cameras.fresh(random, nowMs));
      case 'resend':
        return this.#send(this.#cameras.again(random, nowMs));
      case 'revision':
        return this.#send(this.#cameras.revised(random, nowMs));
      case 'prune':
        return this.#prune(random, nowMs);
      case 'rotate':
        return this.#rotate(random, nowMs);
      case 'revoke':
        return this.#revoke(random, nowMs);
      case 'tail':
        return this.#read(random);
      case 'clock':
        timeline.offsetMs += random.pick([-DAY_MS, -3_600_000, 60_000, DAY_MS, 10 * DAY_MS]);
        return;
      case 'full':
        return this.#fill(random);
      case 'failing':
        return this.#fail(random);
      case 'busy':
        return this.#disk.fail('lock', random.integer(1, 20), random.integer(1, 4), EAGAIN);
    }
  }

  async #send({ events, sent }: Body): Promise<void> {
    const nowMs = timeline.wallMs();
    const request = this.model.send(sent, nowMs);
    try {
      const counts = await this.#store!.append(events);
      if (this.#disk.isDead) return;
      this.model.acknowledged(request, counts);
      this.#note(`202 ${counts.accepted} ${counts.duplicates} ${counts.conflicts}`);
    } catch (error) {
      if (this.#disk.isDead) return;
      if (!(error instanceof Problem)) throw error;
      // After a disk that failed, it is not known what is on it.
      if (!this.#hasFailed) this.model.refused(request);
      this.#note(`${error.status} ${error.code}`);
    }
  }

  async #prune(random: Random, nowMs: number): Promise<void> {
    const rule = { nowMs, beforeMs: nowMs - random.pick([0, 1, 20, 200, 1000, DAY_MS]) };
    this.model.pruneBegins(rule);
    try {
      const { events } = await this.#store!.prune(rule, () => {});
      this.#note(`pruned ${events}`);
    } finally {
      if (!this.#isOver) this.model.pruneEnded(rule);
    }
  }

  async #rotate(random: Random, nowMs: number): Promise<void> {
    const graceS = random.pick([0, 0, 3600]);
    const before = this.model.tokens.map((token) => ({ token, isValid: token.isValid }));
    for (const { token } of before) token.isValid = token.isValid === false ? false : undefined;
    const { token, id } = await withDatabase({ data: this.directory }, (db) => {
      const { token } = rotateToken(db, graceS, nowMs);
      return { token, id: listTokens(db).at(-1)!.id };
    });
    if (this.#disk.isDead) return;
    for (const one of this.model.tokens) if (graceS === 0) one.isValid = false;
    this.model.tokens.push({ token, id, isValid: true });
  }

  async #revoke(random: Random, nowMs: number): Promise<void> {
    if (this.model.tokens.length === 0) return;
    const token = random.pick(this.model.tokens);
    if (token.isValid !== false) token.isValid = undefined;
    await withDatabase({ data: this.directory }, (db) => revokeToken(db, token.id, nowMs));
    if (!this.#disk.isDead) token.isValid = false;
  }

  #checkTokens(): void {
    for (const { token, id, isValid } of this.model.tokens) {
      if (isValid === undefined) continue;
      if (this.#store!.tokens.accepts(token, 'a camera') !== isValid) {
        this.model.violate(`token ${id} is ${isValid ? 'refused' : 'accepted'}`);
      }
    }
  }

  async #read(random: Random): Promise<void> {
    this.#tail ??= new ArrivalLog(this.directory);
    try {
      const { events, upTo } = this.#tail.after(this.model.tailSeq, random.integer(1, 10));
      if (this.#disk.isDead) return;
      for (const event of events) this.model.tailed(event, sentOf(event));
      this.model.tailSeq = Math.max(this.model.tailSeq, upTo);
    } catch (error) {
      if (!(error instanceof TemporarilyUnreadable)) throw error;
    }
  }

  async #fill(random: Random): Promise<void> {
    this.#disk.leave(random.integer(0, 40_000));
    await new Promise<void>((resolve) => setTimeout(resolve, random.integer(1, 4000)));
    if (!this.#isOver) this.#disk.heal();
  }

  async #fail(random: Random): Promise<void> {
    const call = random.pick(['write', 'sync', 'write', 'sync', 'open', 'name'] as const);
    const errno = call === 'write' ? random.pick([EIO, ENOSPC]) : EIO;
    this.#disk.fail(
      call,
      random.integer(1, 30),
      random.integer(1, 3),
      errno,
      random.chance(0.5) ? 'short' : '',
    );
  }
}

/** What a command says to its user. */
function isExpected(error: unknown): boolean {
  return error instanceof OperatorError || error instanceof Problem;
}
