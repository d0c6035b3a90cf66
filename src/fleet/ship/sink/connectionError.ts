import { type FaultKind, faultOf } from '../../nats/faults.ts';
import { SinkError, type SinkErrorKind } from './sink.ts';

const KINDS: Readonly<Record<FaultKind, SinkErrorKind>> = {
  away: 'connecting',
  busy: 'waiting',
  refused: 'refused',
};

/** @returns what keeps headquarters from being connected to, or from answering. @param where its address. */
export function connectionError(error: unknown, where: string): SinkError {
  const { kind, message } = faultOf(error, where);
  return new SinkError(KINDS[kind], `${message} The box keeps its events and tries again.`);
}
