import { parentPort, workerData } from 'node:worker_threads';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { readStoreView } from '../storeView.ts';

/** The thread of problemReport.ts. */

const nothingShipped = async () => undefined;

// Who has sent is in the memory of the daemon.
parentPort?.postMessage(await readStoreView(new DataDirectory(workerData), nothingShipped, { recent: [] }));
