import { type Command, InvalidArgumentError } from 'commander';
import { PORT } from '../../base/limits.ts';
import { integer, notEmpty } from '../options/optionParsers.ts';

const HELP = `
Point a camera at it, let it send for two minutes, and end it with Ctrl-C. It validates as the real box does,
and on purpose refuses a share of the requests, loses answers or is slow; what it stores goes away. The token
that it makes is the one line on standard output until then.

The exit status is 1 where a check fails; what was not seen does not count, but gets no certificate.

Examples:
  courtd conformance -o verdict.html -o verdict.json
  courtd conformance --port 0 --host 127.0.0.1`;

export function addConformance(program: Command): void {
  program
    .command('conformance')
    .description('run a box that tests the cameras pointed at it, and certifies them')
    .option('--host <address>', 'the address to listen on', notEmpty, '0.0.0.0')
    .option('--port <number>', 'the port; 0 picks one', integer(0, 65_535), PORT)
    .option(
      '-o, --output <file>',
      'write the verdict as JSON (.json) or as a page to print (.html); may be given twice',
      parseOutput,
    )
    .addHelpText('after', HELP)
    .action(async (options) => (await import('./conformance.ts')).conformance(options));
}

function parseOutput(file: string, files: readonly string[] = []): string[] {
  if (/.\.(json|html)$/.test(file)) return [...files, file];
  throw new InvalidArgumentError('Give a file that ends in .json or .html.');
}
