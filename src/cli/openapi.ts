import type { Command } from 'commander';
import { courtdVersion } from '../base/version.ts';
import { notEmpty } from './options/optionParsers.ts';
import { say, stdoutSink } from './terminal/output.ts';

const HELP = `
It is made from the schema that events are validated with, and from the table
of errors.

Example:
  courtd openapi -o courtd.openapi.json`;

export function addOpenapi(program: Command): void {
  program
    .command('openapi')
    .description('print the OpenAPI 3.1 document of POST /v1/events, as JSON, for camera vendors')
    .option('-o, --output <file>', 'write to a file; its name appears when it is complete', notEmpty)
    .addHelpText('after', HELP)
    .action(async (_options, command) => openapi(command.optsWithGlobals()));
}

/** Needs no database; no server offers it. */
async function openapi({ output }: { readonly output?: string }): Promise<void> {
  const { fileSink } = await import('../base/fileSink.ts');
  const { openapiDocument } = await import('../vendor/openapi/document.ts');
  const sink = output === undefined ? stdoutSink() : fileSink(output);
  await sink.write(`${JSON.stringify(openapiDocument(courtdVersion()), null, 2)}\n`);
  sink.commit();
  if (output !== undefined) say(`OpenAPI document written to ${output}.`);
}
