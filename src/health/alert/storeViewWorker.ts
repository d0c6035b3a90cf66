import { parentPort, workerData } from 'node:worker_threads';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { readStoreView } from '../storeView.ts';

/** The thread of problemReport.ts. */

const nothingShipped = async () => undefined;

parentPort?.postMessage(await readStoreView(new DataDirectory(workerData), nothingShipped));
