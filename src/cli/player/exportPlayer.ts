import { fileSink } from '../../base/fileSink.ts';
import { counted } from '../../base/units.ts';
import { openWriter } from '../../session/export/openWriter.ts';
import { writtenSentence } from '../../session/export/writeSession.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { EotSorter } from '../../store/read/eotOrder.ts';
import { readPlayer } from '../../store/read/players.ts';
import { Progress, say, stdoutSink } from '../terminal/output.ts';
import { eachNamed, unknown } from './player.ts';

interface PlayerExportOptions extends DataOption {
  readonly output?: string;
}

/** `courtd player export P`: his events are found in the order of arrival, sorted by eot, and read again in that order. */
export async function exportPlayer(player: string, options: PlayerExportOptions): Promise<void> {
  const { output } = options;
  const damage = new Damage();
  await withDatabase(options, async (db) => {
    const ms = Date.now();
    const sorter = new EotSorter();
    const lastSeq = await eachNamed(db, damage, (events) => {
      const his = events.filter((event) => event.player === player);
      sorter.add(his.map(({ seq, eotHigh, eotLow }) => [seq, eotHigh, eotLow]));
    });
    const seqs = sorter.sorted();
    if (seqs.length === 0) throw unknown(player, damage);
    const sink = output === undefined ? stdoutSink() : fileSink(output);
    const writer = await openWriter('', 'ndjson', sink);
    const progress = new Progress();
    let written = 0;
    for (const events of readPlayer(db, player, seqs, damage)) {
      await writer.write(events);
      written += events.length;
      progress.show(() => `${written} of ${seqs.length} events written`);
    }
    progress.clear();
    sink.commit();
    say(writtenSentence(counted(written, 'event'), { seq: lastSeq, ms }, sink, output));
  });
  damage.assertNone();
}
