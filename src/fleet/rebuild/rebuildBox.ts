import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { rebuildDatabase } from '../../store/rebuild/rebuildDatabase.ts';
import type { Rebuilt } from '../../store/rebuild/rebuiltDatabase.ts';
import { erasureOf, isEpochName } from '../copy/boxFile.ts';
import type { Copy } from '../copy/copyFiles.ts';
import { type LogOptions, LostLog } from './lostLog.ts';
import { addCopy, addLines } from './readLostLog.ts';

/** What has become of the log of a lost box, as `courtd rebuild --json` prints it. */
export interface RebuiltBox extends Rebuilt {
  /** Its name; null where nothing says it. */
  readonly box: string | null;
  /** The log begins behind this seq. */
  readonly begins_after: number;
  /** Places where something is missing. */
  readonly holes: number;
  /** Events that were left out because a restore of the lost box had taken them back. */
  readonly taken_back: number;
  /** Null where the source has none. */
  readonly tokens: number | null;
  /** How many entries of the ledger of erasures came with it; null where the source has none. */
  readonly erasures: number | null;
  /** Events from before an erasure, out of which a player was taken now. */
  readonly erased: number;
  /** Whether the new epoch goes on behind a known one, so that nothing is shipped twice. */
  readonly follows_epoch: boolean;
}

/**
 * Makes the database of a lost box anew.
 * @param source a copy, or the bytes of lines of `tail --json` or `fleet tail`.
 * @throws {OperatorError} where the directory has a database, or the source is not the whole log of one box. Nothing is made then.
 */
export function rebuildBox(
  directory: DataDirectory,
  source: Copy | AsyncIterable<Buffer>,
  options: LogOptions,
): Promise<RebuiltBox> {
  const copied = 'epochs' in source ? source.box : undefined;
  const { epochs = [], tokens = null } = copied ?? {};
  return rebuildDatabase(directory, async (database) => {
    const ledger = copied?.erasures.map(erasureOf) ?? [];
    const log = new LostLog(database, options, ledger);
    if ('epochs' in source) await addCopy(source, log, options.onMissing);
    else await addLines(source, log, options.onMissing);
    if (log.events === 0) throw new OperatorError('There are no events in what was given: nothing was made.');
    // Files that lie in another folder than that of their epoch do not say which it is.
    const unnamed = log.epochs.filter(
      ({ name }) => isEpochName(name) && !epochs.some((one) => one.name === name),
    );
    const all = [...epochs, ...unnamed];
    const rebuilt = await database.finish(all, tokens ?? [], ledger, log.begins);
    return {
      box: copied?.box ?? log.box,
      ...rebuilt,
      begins_after: log.begins,
      holes: log.holes,
      taken_back: log.takenBack,
      tokens: tokens?.length ?? null,
      erasures: copied?.erasures.length ?? null,
      erased: log.erased,
      follows_epoch: all.length > 0,
    };
  });
}
