import type { Command } from 'commander';
import { fileSink } from '../../base/fileSink.ts';
import { courtdVersion } from '../../base/version.ts';
import { openapiDocument } from '../../vendor/openapi/document.ts';
import { notEmpty } from '../options/optionParsers.ts';
import { say, stdoutSink } from '../terminal/output.ts';

export function define(command: Command): void {
  command
    .description('print the OpenAPI 3.1 document of POST /v1/events, as JSON, for camera vendors')
    .option('-o, --output <file>', 'write to a file; its name appears when it is complete', notEmpty)
    .addHelpText('after', '\nExample:\n  courtd openapi -o courtd.openapi.json')
    .action((options) => openapi(options));
}

/** Needs no database; no server offers it. */
async function openapi({ output }: { readonly output?: string }): Promise<void> {
  const sink = output === undefined ? stdoutSink() : fileSink(output);
  await sink.write(`${JSON.stringify(openapiDocument(courtdVersion()), null, 2)}\n`);
  sink.commit();
  if (output !== undefined) say(`OpenAPI document written to ${output}.`);
}
