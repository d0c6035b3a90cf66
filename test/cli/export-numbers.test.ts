import t from 'tap';
import { Sheet } from '../../src/session/export/xlsxSheet.ts';
import type { ZipEntry } from '../../src/session/export/zipArchive.ts';

t.test('a number that no spreadsheet holds is a text', (t) => {
  const texts: string[] = [];
  const entry = { isFull: false, write: (text: string) => texts.push(text) } as unknown as ZipEntry;
  new Sheet('Speeds', entry, []).row([1.5, -9e307, 1.7e308, -1e308, 5e-324]);
  const written = texts.join('');
  t.match(written, '<c r="A2"><v>1.5</v></c><c r="B2"><v>-9e+307</v></c>');
  t.match(written, /<c r="C2" s="3" t="inlineStr"><is><t [^>]*>1\.7e\+308<.*<c r="D2" [^>]*t="inlineStr"/);
  t.match(written, '<c r="E2"><v>5e-324</v></c>');
  t.end();
});
