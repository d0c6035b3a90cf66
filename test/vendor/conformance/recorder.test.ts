import t from 'tap';
import { namesToken } from '../../../src/vendor/conformance/recorder.ts';

t.test('a token in the URL is told by the name of its field, whatever its length', (t) => {
  for (const url of ['/v1/events?token=x', '/v1/events?a=1&API_KEY=', '/?a&x-auth=1=2', '/?a=1?secret=b'])
    t.ok(namesToken(url), url);
  for (const url of ['/v1/events', '/token=1', '/v1/events?a=token', '/v1/events?token', '/?a=b=key'])
    t.notOk(namesToken(url), url);
  // A regular expression took minutes for one of these, and answered nobody meanwhile.
  for (const part of ['?key', 'key', '&token?']) t.notOk(namesToken(`/?${part.repeat(4_000)}`), part);
  t.end();
});
