import type { Exchange } from './exchange.ts';

/** What a judge says, and the requests that show it. */
export interface Judgement {
  readonly verdict: 'pass' | 'fail' | 'not seen';
  readonly message: string;
  readonly shownBy: readonly Exchange[];
}

export function pass(message: string, shownBy: readonly Exchange[]): Judgement {
  return { verdict: 'pass', message, shownBy };
}

export function fail(message: string, shownBy: readonly Exchange[]): Judgement {
  return { verdict: 'fail', message, shownBy };
}

export function notSeen(message: string, shownBy: readonly Exchange[] = []): Judgement {
  return { verdict: 'not seen', message, shownBy };
}
