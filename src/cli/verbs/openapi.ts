import type { Command } from 'commander';
import { openapiDocument } from '../../vendor/openapi/document.ts';
import { output } from '../options/optionParsers.ts';
import { outputSink } from '../terminal/output.ts';

/** Needs no database; no server offers it. */
export function define(command: Command): void {
  command
    .addOption(output())
    .addHelpText('after', '\nExample:\n  courtd openapi -o courtd.openapi.json')
    .action(async ({ output }) => {
      const sink = outputSink(output);
      await sink.write(`${JSON.stringify(openapiDocument(), null, 2)}\n`);
      sink.commit();
    });
}
