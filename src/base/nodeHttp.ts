/**
 * node:http, for what is no type. An import of it reads every export, and that of WebSocket loads undici, which nothing here uses: 45 ms
 * of processor time at each start of the daemon and of every command that asks it (nodejs/node#59686).
 */
export const http = process.getBuiltinModule('node:http');
