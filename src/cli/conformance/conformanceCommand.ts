import { type Command, InvalidArgumentError } from 'commander';
import { PORT } from '../../base/limits.ts';
import { integer, notEmpty } from '../options/optionParsers.ts';

const HELP = `
Point a camera at it, let it send for two minutes, and end it with Ctrl-C: then
it prints the verdict. It validates as the real box does; on purpose it refuses
some requests, loses answers or is slow. What it stores goes away. The camera
needs the token that it prints first, alone on a line. With --restart it takes
three minutes more: the box says when to switch the camera off and on.

The exit status is 1 where a check fails. A check that was not seen is no
failure, but a certificate takes a pass in every one.

Examples:
  courtd conformance --camera 'Acme, C-100, firmware 3.2' -o verdict.html
  courtd conformance --restart -o verdict.json
  courtd conformance --port 0 --host 127.0.0.1`;

export function addConformance(program: Command): void {
  program
    .command('conformance')
    .description('run a box that tests the cameras pointed at it, and certifies them')
    .option('--host <address>', 'the address to listen on', notEmpty, '0.0.0.0')
    .option('--port <number>', 'the port; 0 picks one', integer(0, 65_535), PORT)
    .option('--camera <text>', 'who is tested, such as "vendor, model, firmware"', notEmpty)
    .option('--restart', 'ask for the camera to be switched off and on, and see what it sends afterwards')
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
