import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';

/**
 * systemd/LOG.md explains every line that the daemon logs from level info up: the messages are read from the source, and compared
 * with the rows of its tables. What a message says of its own time (a name, a sentence) is … in both.
 */

const ROOT = path.resolve(import.meta.dirname, '../..');
const LEVELS = ['info', 'warn', 'error', 'fatal'];
const LOG_CALL = /\b(?:log|logger|#log)\??\.(info|warn|error|fatal)\(/g;
/** A function that is given the message that it logs. */
const LOG_HELPER = /(#?\w+)\([^()]*\bmessage: string[^()]*\): \w+ \{/g;

/** @returns where the part of an expression ends that begins at `from`: at a character of `ends` outside of brackets and strings. */
function endOf(text: string, from: number, ends: string): number {
  for (let at = from; at < text.length; at++) {
    const character = text[at]!;
    if (ends.includes(character)) return at;
    if ('([{'.includes(character)) at = endOf(text, at + 1, ')]}');
    else if (`'"\``.includes(character)) at = endOfString(text, at);
  }
  return text.length;
}

function endOfString(text: string, from: number): number {
  const quote = text[from]!;
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === quote) return at;
    else if (quote === '`' && text.startsWith('${', at)) at = endOf(text, at + 2, '}');
  }
  return text.length;
}

/** @returns the parts of an expression between separators that are outside of brackets and strings. */
function split(text: string, separator: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from <= text.length; ) {
    const end = endOf(text, from, separator);
    parts.push(text.slice(from, end).trim());
    from = end + 1;
  }
  return parts.filter((part) => part !== '');
}

/** @returns the arguments of a call. @param open behind its parenthesis. */
function argumentsOf(source: string, open: number): string[] {
  return split(source.slice(open, endOf(source, open, ')')), ',');
}

/** @returns every text that an expression can be, in a source where it stands. */
function textsOf(expression: string, source: string): string[] {
  const question = endOf(expression, 0, '?');
  if (question < expression.length) {
    const [yes = '', no = ''] = split(expression.slice(question + 1), ':');
    return [...textsOf(yes, source), ...textsOf(no, source)];
  }
  const summands = split(expression, '+');
  if (summands.length > 1) {
    return [summands.map((summand) => textsOf(summand, source).join('')).join('')];
  }
  if (expression.startsWith('`')) return [withoutPlaceholders(expression.slice(1, -1))];
  if (/^['"]/.test(expression)) return [expression.slice(1, -1)];
  if (/^\w+(\.\w+)*\.message$/.test(expression)) return ['…'];
  const [, name = '', access = ''] = /^(\w+)(\[|\()?/.exec(expression) ?? [];
  if (access === '(') {
    const body = source.slice(source.indexOf(`function ${name}(`));
    const returns = body.slice(0, body.indexOf('\n}\n')).matchAll(/\breturn ([^;]+);/g);
    return [...returns].flatMap(([, returned]) => textsOf(returned!, source));
  }
  const declared = new RegExp(`\\bconst ${name} =\\s*`).exec(source);
  if (declared === null) throw new Error(`What is ${expression}?`);
  const from = declared.index + declared[0].length;
  const value = source.slice(from, endOf(source, from, ';')).trim();
  if (access === '') return textsOf(value, source);
  const members = split(value.slice(1, endOf(value, 1, '}')), ',');
  return members.flatMap((member) => textsOf(member.replace(/^\w+:\s*/, ''), source));
}

function withoutPlaceholders(template: string): string {
  const at = template.indexOf('${');
  if (at < 0) return template;
  const end = endOf(template, at + 2, '}');
  return `${template.slice(0, at)}…${withoutPlaceholders(template.slice(end + 1))}`;
}

/** @returns `level: message` of everything that a source logs. */
function messagesIn(source: string): string[] {
  const found: string[] = [];
  for (const { 0: call, 1: level, index } of source.matchAll(LOG_CALL)) {
    const message = argumentsOf(source, index + call.length).at(-1) ?? '';
    const expressions = message === 'message' ? messagesGiven(source, index) : [message];
    found.push(
      ...expressions.flatMap((one) => textsOf(one, source)).map((text) => `${level}: ${text.trim()}`),
    );
  }
  return found;
}

/** @returns the messages that the calls of a helper give it. @param within a place in the helper. */
function messagesGiven(source: string, within: number): string[] {
  const helper = [...source.slice(0, within).matchAll(LOG_HELPER)].at(-1);
  if (helper === undefined) throw new Error(`Whose message is it? ${source.slice(within, within + 80)}`);
  const { 1: name, index } = helper;
  const calls = [...source.matchAll(new RegExp(`(?<!\\w)${name}\\(`, 'g'))].filter(
    (call) => call.index !== index,
  );
  return calls.map((call) => argumentsOf(source, call.index + call[0].length).at(-1) ?? '');
}

function withoutComments(source: string): string {
  return source.replace(/^\s*(?:\/\*\*[\s\S]*?\*\/|\/\/.*)$/gm, '');
}

/** @returns `level: message` of every row, and its other cells. */
function rowsOf(document: string): { message: string; cells: string[] }[] {
  return LEVELS.flatMap((level) => {
    const [, section = ''] = document.split(`\n## ${level}\n`);
    const [own = ''] = section.split('\n## ');
    const rows = own.split('\n').filter((line) => line.startsWith('| `'));
    return rows.map((row) => {
      const [message = '', ...cells] = row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      return { message: `${level}: ${message.replaceAll('`', '')}`, cells };
    });
  });
}

t.test('systemd/LOG.md has a row for every message that the daemon logs, and no other', async (t) => {
  const files = fs.readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const logged = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => messagesIn(withoutComments(fs.readFileSync(path.join(ROOT, 'src', file), 'utf8'))));
  const rows = rowsOf(fs.readFileSync(path.join(ROOT, 'systemd/LOG.md'), 'utf8'));
  t.strictSame(rows.map(({ message }) => message).sort(), [...new Set(logged)].sort());
  for (const { message, cells } of rows) {
    t.equal(cells.length, 2, `${message}: its fields, and what to do`);
    t.not(cells[1], '', message);
  }
});
