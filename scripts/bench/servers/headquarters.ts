import http from 'node:http';
import os from 'node:os';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { listenAndAnnounce } from './announce.ts';

/**
 * Another courtd for `ship`, which keeps nothing. In a venue it is a machine of its own, elsewhere: here it takes only what time
 * the others leave. `GET /` answers how many events it was sent.
 */

let events = 0;
os.setPriority(os.constants.priority.PRIORITY_LOW);
listenAndAnnounce(
  http.createServer(async (req, res) => {
    if (req.method === 'GET') return void res.end(String(events));
    // A 202 that does not count the events is none of courtd's, and no acknowledgement.
    const accepted =
      gunzipSync(await buffer(req))
        .toString('latin1')
        .split('{"event_id":').length - 1;
    events += accepted;
    res.writeHead(202).end(JSON.stringify({ accepted, duplicates: 0 }));
  }),
);
