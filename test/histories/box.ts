import fs from 'node:fs';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { OperatorError } from '../../src/base/operatorError.ts';
import { Problem } from '../../src/protocol/errors.ts';
import type { ArrivalLog } from '../../src/store/read/arrivalLog.ts';
import { Store } from '../../src/store/store.ts';
import { Random } from '../../src/vendor/simulate/random.ts';
import { UNLOGGED } from '../harness/storeEvents.ts';
import { check } from './check.ts';
import { Copy } from './copy.ts';
import { commandBefore, deed } from './deeds.ts';
import type { Disk } from './disk.ts';
import { Cameras } from './events.ts';
import { Model } from './model.ts';
import type { Kind, Life, Operation } from './plan.ts';
import { closeAll } from './standIns/sqlite.ts';
import { endProcess, timeline } from './world.ts';

/** Steps of the scheduler in a life, at most. */
const STEPS_MAX = 3000;
/** Things that are under way at the same time, at most. */
const AT_ONCE = 5;
/** What passes before the next thing begins. */
const PASSING_MS = [1, 5, 30, 300, 2000] as const;

/** A box, its cameras and its copy, over the lives of its process. */
export class Box {
  readonly model = new Model();
  readonly cameras = new Cameras();
  readonly log: string[] = [];
  readonly disk: Disk;
  readonly copy: Copy;
  directory: DataDirectory;
  /** Its disk is another one, that has nothing yet. */
  isLost = false;
  /** Where backups are. */
  readonly backups: string;
  /** Of this life. */
  store: Store | undefined;
  tail: ArrivalLog | undefined;
  /** Ends what runs until the process does. */
  ending = new AbortController();
  isCopying = false;
  isBackingUp = false;
  /** The disk has failed, and the daemon ends. */
  hasFailed = false;
  readonly #random: Random;
  /** What has been begun and has not ended. */
  readonly #running = new Map<number, Kind>();
  #begun = 0;
  #pid = 1000;

  constructor(disk: Disk, random: Random) {
    this.disk = disk;
    this.copy = new Copy(disk, this.model);
    this.#random = random;
    this.directory = new DataDirectory(`${disk.root}/box`);
    this.backups = `${disk.root}/backups`;
    fs.mkdirSync(this.backups);
  }

  /** An error that nobody caught: production's process would end with it. */
  uncaught(error: unknown): void {
    if (!this.isOver) this.model.violate(`uncaught: ${error instanceof Error ? error.stack : error}`);
  }

  async live(life: Life): Promise<void> {
    this.#boot();
    this.note(`starts, after ${life.before}; ends with ${life.end}`);
    if (life.before === 'rebuild') this.#lose();
    this.#noteIfRebuilt();
    const isAtCall = life.end.endsWith('AtCall');
    if (isAtCall && life.isEarly) this.disk.killAt(life.atCall, life.isAtSync);
    await this.#alone(commandBefore(this, life.before, new Random(life.seed)));
    if (!this.isOver && life.isStarted && (await this.#open())) {
      check(this.directory, this.model);
      if (this.model.isOver) return;
      if (isAtCall && !life.isEarly) this.disk.killAt(life.atCall, life.isAtSync);
      await this.#run(life.operations);
    }
    await this.#end(life.end);
  }

  /** The last start, with nothing in its way: the copy gets all there is. */
  async settle(): Promise<void> {
    this.#boot();
    this.note('starts for the last time');
    this.#noteIfRebuilt();
    if (this.isLost) await this.#alone(commandBefore(this, 'rebuild', this.#random));
    if (!(await this.#open())) return;
    check(this.directory, this.model, true);
    if (this.copy.known === undefined) return void (await this.#stop());
    const error = await this.#alone(this.copy.follow(this.directory, true, this.ending.signal));
    if (error !== undefined) this.model.violate(`the copy does not become current: ${error}`);
    this.copy.check(this.directory);
    await this.#stop();
  }

  /** The disk of the box dies; another one takes its place. What is on other disks is as it was. */
  #lose(): void {
    if (this.isLost || !this.copy.hasEvents) return;
    this.isLost = true;
    this.directory = new DataDirectory(`${this.directory.path}-new`);
    fs.mkdirSync(this.directory.path);
    const folder = fs.openSync(this.disk.root, 'r');
    fs.fsyncSync(folder);
    fs.closeSync(folder);
    this.note('the disk is lost');
  }

  /** A rebuild that was killed once the database had its name has made it. */
  #noteIfRebuilt(): void {
    if (fs.existsSync(this.directory.file('database'))) this.isLost = false;
  }

  #boot(): void {
    endProcess(this.#pid++);
    this.disk.boot();
    this.disk.heal();
    this.hasFailed = false;
    this.ending = new AbortController();
  }

  get isOver(): boolean {
    return this.hasFailed || this.disk.isDead;
  }

  note(what: string): void {
    this.log.push(`${timeline.monotonicMs.toFixed(2)} ${what}`);
  }

  async #open(): Promise<boolean> {
    const fatal = () => {
      this.hasFailed = true;
    };
    this.store = await this.#alone(Store.open(this.directory, { ...UNLOGGED, fatal }));
    if (this.isOver) return false;
    if (this.store === undefined && !this.model.isOver) this.model.violate('the store does not open');
    return this.store !== undefined;
  }

  /** Waits for one thing. @returns undefined if the process has ended before, or it has failed. */
  async #alone<Value>(work: Promise<Value>): Promise<Value | undefined> {
    let isOver = false;
    let result: Value | undefined;
    work.then(
      (value) => {
        result = value;
        isOver = true;
      },
      (error) => {
        isOver = true;
        if (!this.isOver) this.model.violate(`${error instanceof Error ? error.stack : error}`);
      },
    );
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      await timeline.settled();
      if (isOver) return result;
      if (this.isOver) return undefined;
      this.#step();
    }
    this.model.violate('it does not come to an end');
    return undefined;
  }

  /** One thing after another, as chance has it; with nothing to run, the time passes until something is. */
  #step(): void {
    const isReady = timeline.immediates.length > 0;
    try {
      if (isReady && (timeline.timers.length === 0 || this.#random.chance(0.85))) timeline.runImmediate();
      else timeline.runTimer(this.#random.chance(0.1) ? this.#random.integer(0, 50) : 0);
    } catch (error) {
      if (!this.isOver) this.model.violate(`${error instanceof Error ? error.stack : error}`);
    }
  }

  async #run(operations: readonly Operation[]): Promise<void> {
    let next = 0;
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      await timeline.settled();
      if (this.isOver || this.model.isOver) return;
      const isIdle = this.#running.size === 0;
      if (
        next < operations.length &&
        this.#running.size < AT_ONCE &&
        this.#random.chance(isIdle ? 0.8 : 0.4)
      ) {
        this.#begin(operations[next++]!);
        continue;
      }
      if (next === operations.length && isIdle) return;
      this.#step();
    }
    if ([...this.#running.values()].includes('request')) this.model.violate('a request has had no answer');
  }

  async #end(end: Life['end']): Promise<void> {
    const isClosed = end === 'stop' && !this.isOver && (await this.#stop());
    this.disk.kill();
    closeAll();
    timeline.clear();
    await timeline.settled();
    this.store = undefined;
    this.tail = undefined;
    this.isCopying = false;
    this.isBackingUp = false;
    this.#running.clear();
    this.note(isClosed ? 'has stopped' : 'has ended');
    this.model.crashed();
    if (end.startsWith('cut')) this.note(`the power goes: ${this.disk.cut()} lost`);
  }

  /** @returns whether it came to the end. */
  async #stop(): Promise<boolean> {
    this.ending.abort();
    if (this.store !== undefined) await this.#alone(this.store.close());
    return !this.isOver;
  }

  #begin({ kind, seed }: Operation): void {
    // Timers that are due by then are late, as in a loop that was busy.
    if (this.#random.chance(0.5)) timeline.monotonicMs += this.#random.pick(PASSING_MS);
    const id = this.#begun++;
    this.#running.set(id, kind);
    this.note(`${kind} ${id}`);
    const done = () => {
      if (this.#running.delete(id)) this.note(`${kind} ${id} is over`);
    };
    const failed = (error: unknown) => {
      if (!this.isOver && !isExpected(error)) {
        this.model.violate(`${kind}: ${error instanceof Error ? error.stack : error}`);
      }
      done();
    };
    deed(this, kind, new Random(seed)).then(done, failed);
  }
}

/** What a command says to its user. */
function isExpected(error: unknown): boolean {
  return error instanceof OperatorError || error instanceof Problem;
}
