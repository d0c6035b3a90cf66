import type { Command } from 'commander';
import { fileSink } from '../../base/fileSink.ts';
import { courtdVersion } from '../../base/version.ts';
import { openapiDocument } from '../../vendor/openapi/document.ts';
import { output } from '../options/optionParsers.ts';
import { say, stdoutSink } from '../terminal/output.ts';

export function define(command: Command): void {
  command
    .addOption(output())
    .addHelpText('after', '\nExample:\n  courtd openapi -o courtd.openapi.json')
    .action(openapi);
}

/** Needs no database; no server offers it. */
async function openapi({ output }: { readonly output?: string }): Promise<void> {
  const sink = output === undefined ? stdoutSink() : fileSink(output);
  await sink.write(`${JSON.stringify(openapiDocument(courtdVersion()), null, 2)}\n`);
  sink.commit();
  if (output !== undefined) say(`OpenAPI document written to ${output}.`);
}
