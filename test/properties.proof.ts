import { tryAllRuns } from './harness/numRuns.ts';

/** The properties of npm test, each with as many cases as it was written for. */

tryAllRuns();
// First: it waits for its daemon, and tap takes a pause between two tests for the end.
await import('./http/properties.test.ts');
await import('./protocol/eot.test.ts');
await import('./protocol/jsonReader.test.ts');
await import('./protocol/payload.test.ts');
await import('./protocol/sameJson.test.ts');
await import('./store/model.test.ts');
