import http from 'node:http';
import { listenAndAnnounce } from './announce.ts';

/** The ceiling: node:http alone, which parses the events, stores nothing, and answers. */
const server = http.createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const events = JSON.parse(Buffer.concat(chunks).toString());
    const accepted = Array.isArray(events) ? events.length : 1;
    const body = JSON.stringify({ accepted, duplicates: 0 });
    res.writeHead(202, { 'Content-Type': 'application/json', 'Content-Length': body.length });
    res.end(body);
  });
});
listenAndAnnounce(server);
