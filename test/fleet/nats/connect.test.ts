import t from 'tap';
import { parseServers, shownUrl } from '../../../src/fleet/nats/address.ts';

t.test('a URL names one server or several of one cluster, with one user', async (t) => {
  t.strictSame(parseServers('nats://hq'), { servers: ['hq:4222'], hosts: ['hq'], isTls: false });
  t.strictSame(parseServers('tls://a%40b:c%2Fd@hq-1:1,tls://hq-2:2/, [::1]:3'), {
    servers: ['hq-1:1', 'hq-2:2', '[::1]:3'],
    hosts: ['hq-1', 'hq-2', '::1'],
    isTls: true,
    user: 'a@b',
    pass: 'c/d',
  });
  t.match(parseServers('nats://secret@hq'), { token: 'secret' });
  for (const wrong of [
    '',
    'hq:4222',
    'hq',
    'https://hq.example.org:4000',
    'nats://a,http://b',
    'nats://',
    'nats://hq/x',
    'nats://a,tls://b',
    'nats://u:p@a,nats://v:p@b',
  ]) {
    t.throws(() => parseServers(wrong), { message: /no address of NATS servers|must all be/ }, wrong);
  }
});

t.test('what is shown of a URL has no user and no password', async (t) => {
  t.equal(shownUrl('tls://u:p@a:1,tls://v:q@b/'), 'tls://a:1,tls://b');
  for (const wrong of [
    'http://u:secret@a',
    'https://u:secret@secret@hq',
    'https:/u:secret@hq',
    'https:\\\\u:secret@hq',
    'nats//u:secret@hq',
    'nats://u:1/secret@a',
    'nats://u:secret,secret@a',
    'tls://u:$2b$05$/secret?#secret@hq,tls://u:secret/@hq',
  ]) {
    t.notMatch(shownUrl(wrong), 'secret', wrong);
    t.throws(() => parseServers(wrong), { message: /^((?!secret).)*$/ }, wrong);
  }
});
