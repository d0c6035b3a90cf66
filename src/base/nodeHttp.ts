/**
 * node:http, for everything but its types. An import statement reads every export, and that of WebSocket loads undici, which courtd
 * does not use: 45 ms of CPU time at each start of the daemon, and of every command that asks it (nodejs/node#59686).
 */
export const http = process.getBuiltinModule('node:http');
