import type { PruneSelection } from '../../src/store/keep/expiredEvents.ts';

/** An event that was sent. */
export interface Sent {
  readonly key: string;
  /** Key without the revision. */
  readonly family: string;
  readonly revision: number;
  readonly eotMs: number;
  /** As an export writes it. */
  readonly text: string;
}

/** One request. */
export interface Request {
  readonly events: readonly Sent[];
  readonly sentMs: number;
  /** How many of them are duplicates at least and at most. */
  readonly certain: ReadonlySet<string>;
  readonly possible: ReadonlySet<string>;
}

/** What is known of a key. */
export interface Key {
  readonly family: string;
  readonly revision: number;
  /** On disk: a 202 has said so, or a reader. */
  isStored: boolean;
  /** A prune may have deleted it. */
  mayBeGone: boolean;
  /** Every one that may be what is stored; one, once that was seen. */
  texts: { readonly text: string; readonly by: Request | undefined }[];
  seq: number | undefined;
  /** When the box received it, by its own clock. */
  receivedMs: { least: number; most: number };
}

/** A prune, by what it deletes. */
export type PruneRule = PruneSelection;

/** What was there when a backup was made: at least, and at most. */
export interface Backup {
  readonly file: string;
  readonly certain: ReadonlySet<string>;
  readonly possible: ReadonlyMap<string, Key>;
}

/** What is known of a box by its copy, when the box is lost. */
export interface Lost {
  /** What may be in the log: each event as it was read from the box, in the order of arrival. */
  readonly possible: Map<
    string,
    { readonly sent: Sent; readonly seq: number; readonly receivedMs: number }[]
  >;
  /** What must be. */
  readonly certain: Set<string>;
  /** The time before which a player is erased by the copied ledger; undefined: they are not. */
  readonly erasedBeforeNs: (player: string) => bigint | undefined;
}
