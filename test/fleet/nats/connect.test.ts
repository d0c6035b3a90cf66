import t from 'tap';
import { parseServers, shownUrl } from '../../../src/fleet/nats/address.ts';

t.test('a URL names one server or several of one cluster, with one user', async (t) => {
  t.match(parseServers('nats://hq'), { servers: ['hq:4222'], hosts: ['hq'], isTls: false });
  t.strictSame(parseServers('tls://a%40b:c%2Fd@hq-1:1,tls://hq-2:2/, [::1]:3'), {
    servers: ['hq-1:1', 'hq-2:2', '[::1]:3'],
    hosts: ['hq-1', 'hq-2', '::1'],
    isTls: true,
    user: 'a@b',
    pass: 'c/d',
    shown: 'tls://hq-1:1,tls://hq-2:2,tls://[::1]:3',
  });
  t.match(parseServers('nats://secret@hq'), { token: 'secret', shown: 'nats://hq' });
  const wrong = ['', 'hq:4222', 'hq', 'https://hq:4000', 'nats://a,http://b', 'nats://', 'nats://hq/x'];
  for (const text of [...wrong, 'nats://a,tls://b', 'nats://u:p@a,nats://v:p@b'])
    t.throws(() => parseServers(text), { message: /address of NATS servers/ }, text);
});

t.test('what is shown of a URL has no user and no password, even if it is wrong', async (t) => {
  for (const wrong of [
    'http://u:secret@a',
    'https://u:secret@secret@hq',
    'nats//u:secret@hq',
    'nats://u:1/secret@a',
  ]) {
    t.notMatch(shownUrl(wrong), 'secret', wrong);
    t.throws(() => parseServers(wrong), { message: /^((?!secret).)*$/ }, wrong);
  }
});
