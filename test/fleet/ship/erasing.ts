import { erasureOf } from '../../../src/fleet/copy/boxFile.ts';
import type { BoxIdentity, EventFeed } from '../../../src/fleet/copy/eventFeed.ts';
import { decodeLines } from '../../../src/fleet/log/logLines.ts';
import { arrivalToJson } from '../../../src/protocol/event.ts';
import { Redactor } from '../../../src/store/erasure/redactor.ts';
import { ERASED_ANNA } from '../../harness/erasure.ts';
import { event } from '../../harness/events.ts';

export const ANNA = 'anna-17';
const TYPES = ['PLAYER_POSITION', 'BALL_HIT', 'PLAYER_IDENTITY', 'BALL_BOUNCE'];
export const [FIRST, LAST] = ['2026-11-20', '2026-11-23'] as const;

/** A line of `tail --json`: every third names Anna, and every fourth of those was played after her erasure. */
export function lineOf(seq: number, day: string): string {
  const isHers = seq % 3 === 0;
  const player_id = isHers ? ANNA : `p-${seq % 3}`;
  const type = TYPES[seq % 4]!;
  const sent = event({
    event_id: `e-${seq}`,
    type,
    eot: seq % 12 === 0 ? '2030-01-01T00:00Z' : `${day}T09:00:00.${String(seq).padStart(9, '0')}Z`,
    payload:
      type === 'BALL_BOUNCE'
        ? { x_ft: 1.5, opponents: [player_id, 'p-9'] }
        : { player_id, ...(type === 'PLAYER_IDENTITY' && { name: isHers ? 'Anna 🎾' : 'Eva' }) },
  });
  const received_at = `${day}T10:00:00.000Z`;
  return `${JSON.stringify({ seq, received_at, event: sent })}\n`;
}

/** A box that may be told to erase Anna, and to prune. */
export class ErasingBox {
  lines: readonly string[];
  pruned = 0;
  erasures: BoxIdentity['erasures'] = [];
  /** Called before each read. */
  onRead = () => {};
  readonly epochs = [{ name: 'e1', fromSeq: 0 }];

  constructor(lines: readonly string[]) {
    this.lines = lines;
  }

  erase(): void {
    const redactor = new Redactor([erasureOf(ERASED_ANNA)]);
    this.lines = this.lines.map((line) => {
      const { event, seq, receivedMs } = decodeLines([line])[0]!;
      return arrivalToJson({ ...redactor.redact(event), seq, receivedMs });
    });
    this.erasures = [ERASED_ANNA];
  }

  get feed(): EventFeed {
    return {
      state: async () => ({
        epochs: this.epochs,
        lastSeq: this.lines.length,
        prunedSeq: this.pruned,
        report: undefined,
      }),
      next: async (after, most) => {
        this.onRead();
        const from = Math.max(after, this.pruned);
        const lines = this.lines.slice(from, from + most);
        const last = lines.length === 0 ? after : from + lines.length;
        return { epoch: this.epochs.at(-1)!.name, lines, last, isLast: last >= this.lines.length };
      },
      identity: async () => ({ venue: null, oldestSeq: 1, tokens: null, erasures: this.erasures }),
      report: async () => {},
      close: async () => {},
    };
  }
}

export const days = (count: number, day: string, from = 1) =>
  Array.from({ length: count }, (_, i) => lineOf(from + i, day));
