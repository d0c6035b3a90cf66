import type { Test } from 'tap';
import { makePair } from '../../harness/certificates.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { speakTls } from '../../harness/transport.ts';

/**
 * What holds for plain HTTP holds over TLS: runs a file of tests once more, on the other transport.
 * @param name of the file without its ending, from the folder above on. One file a process: tap takes a pause between two for the end.
 */
export async function again(t: Test, name: string): Promise<void> {
  speakTls(makePair(temporaryFolder(t), 'box'));
  await import(`../${name}.ts`);
}
