import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { ARCHITECTURE, anchorsOf, DOCUMENTS, proseOf, ROOT, textOf } from '../harness/documents.ts';

t.test('every link between documents leads to a file, and to a heading of it', (t) => {
  let seen = 0;
  for (const document of DOCUMENTS) {
    const links = proseOf(document)
      .replace(/`[^`\n]*`/g, '')
      .matchAll(/\]\(([^)\s]+)\)/g);
    for (const [, link] of links) {
      seen++;
      if (/^https?:/.test(link!)) continue;
      const [file = '', anchor] = link!.split('#');
      const target = file === '' ? document : path.join(path.dirname(document), file);
      t.ok(fs.existsSync(path.join(ROOT, target)), `${document}: ${link}`);
      if (anchor === undefined || !fs.existsSync(path.join(ROOT, target))) continue;
      t.ok(anchorsOf(target).includes(anchor), `${document}: ${link}`);
    }
  }
  t.ok(seen > 50, `${seen} links were looked at`);
  t.end();
});

t.test(
  'a document names files and headings, no line numbers, and nothing that a clone does not have',
  (t) => {
    for (const document of DOCUMENTS) {
      const text = textOf(document);
      t.notMatch(text, /\.ts:\d|#L\d|\bline \d/, `${document}: line numbers`);
      t.notMatch(text, /\bdesign\.md|\bspec\.md|\/work\//, `${document}: what no clone contains`);
      for (const [, script] of text.matchAll(/npm run ([\w-]+)/g)) {
        const { scripts } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
        t.ok(scripts[script!], `${document}: npm run ${script}`);
      }
    }
    for (const [, file] of textOf(ARCHITECTURE).matchAll(/`([\w/]+\.(?:ts|md))`/g))
      t.ok(fs.existsSync(path.join(ROOT, 'src', file!)), `${ARCHITECTURE}: ${file}`);
    t.end();
  },
);
