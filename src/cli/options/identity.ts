import type { Command } from 'commander';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { actAsOwner, becomeOwner } from '../../base/processIdentity.ts';

/**
 * Whose rights a command has that root calls:
 * - owner: those of the owner of the data directory, for good. Every command of which nothing else is said.
 * - acting: the same by its effective ids only, because it also reads or writes elsewhere, one thing after another: that is done
 *   as the caller (asCaller). So is whatever has -o.
 * - caller: root's own.
 */
type Identity = 'owner' | 'acting' | 'caller';

/** By the name of the command. */
const IDENTITIES: Readonly<Record<string, Identity>> = {
  backup: 'acting',
  check: 'acting',
  import: 'acting',
  support: 'acting',
  // These read what they are given, such as a key or a backup, and then become the owner themselves.
  serve: 'caller',
  ship: 'caller',
  restore: 'caller',
  // These have nothing to do with a data directory.
  conformance: 'caller',
  fleet: 'caller',
  openapi: 'caller',
  simulate: 'caller',
};

/** Decides who runs a command, before it begins. @throws {OperatorError} if the owner of its data directory is not known. */
export async function takeIdentity(program: Command, command: Command): Promise<void> {
  const { data, output } = command.optsWithGlobals<{ data: DataDirectory; output?: string }>();
  const isOfFleet = command.parent?.name() === 'fleet';
  const name = isOfFleet ? 'fleet' : command.parent === program ? command.name() : '';
  const identity = IDENTITIES[name] ?? (output === undefined ? 'owner' : 'acting');
  if (identity === 'owner') await becomeOwnerOf(data);
  if (identity === 'acting') await explained(data, () => void actAsOwner(data.path));
}

/** For good. @throws {OperatorError} if the owner is not known. */
export function becomeOwnerOf(data: DataDirectory): Promise<void> {
  return explained(data, () => becomeOwner(data.path));
}

async function explained(data: DataDirectory, work: () => void): Promise<void> {
  try {
    work();
  } catch (error) {
    throw (await import('../../store/open/openErrors.ts')).explain(error, data);
  }
}
