import { courtdVersion } from '../../base/version.ts';
import { openapiDocument } from '../../vendor/openapi/document.ts';
import { say } from '../terminal/output.ts';
import { fileSink, stdoutSink } from '../terminal/sinks.ts';

/** `courtd openapi`. Needs no database; no server offers it. */
export async function openapi({ output }: { readonly output?: string }): Promise<void> {
  const sink = output === undefined ? stdoutSink() : fileSink(output);
  await sink.write(`${JSON.stringify(openapiDocument(courtdVersion()), null, 2)}\n`);
  sink.commit();
  if (output !== undefined) say(`OpenAPI document written to ${output}.`);
}
