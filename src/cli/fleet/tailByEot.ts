import { setTimeout as sleep } from 'node:timers/promises';
import { FOLLOW_POLL_MS } from '../../base/limits.ts';
import type { EotWindow } from '../../protocol/eotWindow.ts';
import { markLate } from '../../protocol/event.ts';
import { eotWindows, type OrderOptions } from '../options/orderOptions.ts';
import type { LineOutput } from '../terminal/lineOutput.ts';

/** What is read of a line of `fleet tail`. */
interface FleetLine {
  readonly box: string;
  readonly received_at: string;
  readonly event: { readonly eot: string };
}

/** `courtd fleet tail --order eot`. @param chunks of lines with their line ends, in the order of each box's log. */
export async function tailByEot(
  chunks: AsyncGenerator<string[]>,
  output: LineOutput,
  options: OrderOptions,
): Promise<void> {
  const boxes = new BoxWindows(options);
  for (let next = chunks.next(); ; ) {
    // Only while something is held: each race adds to what the chunk, which may not come for days, has to call.
    const result = await (boxes.areEmpty ? next : Promise.race([next, sleep(FOLLOW_POLL_MS, undefined)]));
    if (result?.done === true) return output.write(boxes.rest());
    await output.write(result === undefined ? boxes.due() : result.value.flatMap((line) => boxes.take(line)));
    if (result !== undefined) next = chunks.next();
  }
}

/** Boxes share no clock: each is in an order of its own, but for what is sorted as a whole. */
class BoxWindows {
  readonly #windows = new Map<string, EotWindow<string>>();
  readonly #make: () => EotWindow<string>;
  readonly #follow: boolean;

  constructor(options: OrderOptions) {
    this.#follow = options.follow === true;
    const toLine = (line: string, isLate: boolean) => (isLate ? markLate(line) : line);
    this.#make = eotWindows(options, toLine, 'Select fewer with --box or --after.');
  }

  get areEmpty(): boolean {
    return !this.#follow || this.#windows.values().every(({ isEmpty }) => isEmpty);
  }

  take(line: string): string[] {
    const { box, received_at, event }: FleetLine = JSON.parse(line);
    const name = this.#follow ? box : '';
    const window = this.#windows.get(name) ?? this.#make();
    this.#windows.set(name, window);
    const occurrence = { eot: event.eot, receivedMs: Date.parse(received_at), bytes: line.length };
    return window.take(line, occurrence, performance.now());
  }

  due(): string[] {
    return [...this.#windows.values()].flatMap((window) => window.due(performance.now()));
  }

  rest(): Iterable<string> {
    return this.#windows.values().flatMap((window) => window.rest());
  }
}
