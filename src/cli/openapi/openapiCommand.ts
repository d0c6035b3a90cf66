import type { Command } from 'commander';
import { notEmpty } from '../options/optionParsers.ts';

export function addOpenapi(program: Command): void {
  program
    .command('openapi')
    .description('print the OpenAPI 3.1 document of POST /v1/events, as JSON, for camera vendors')
    .option('-o, --output <file>', 'write to a file; its name appears when it is complete', notEmpty)
    .addHelpText('after', EXAMPLE)
    .action(async (_options, command) => (await import('./openapi.ts')).openapi(command.optsWithGlobals()));
}

const EXAMPLE = `
It is made from the schema that events are validated with, and from the table
of errors.

Example:
  courtd openapi -o courtd.openapi.json`;
