import { tryAllRuns } from './harness/numRuns.ts';

/** The properties of npm test, each with as many cases as it was written for. */

tryAllRuns();
await import('./protocol/decodeBatch.test.ts');
await import('./protocol/eot.test.ts');
await import('./protocol/event.test.ts');
await import('./protocol/jsonReader.test.ts');
await import('./protocol/payload.test.ts');
await import('./store/model.test.ts');
await import('./store/read/eotOrder.test.ts');
await import('./store/read/sessionReader.test.ts');
await import('./http/one-answer.test.ts');
await import('./http/properties.test.ts');
