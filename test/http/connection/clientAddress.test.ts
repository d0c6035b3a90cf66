import t from 'tap';
import { clientAddress, networkOf } from '../../../src/http/connection/clientAddress.ts';

t.test('IPv4 counts by the address, IPv6 by its /64', (t) => {
  t.equal(clientAddress('::ffff:10.0.7.2'), '10.0.7.2');
  t.equal(clientAddress('2001:db8::ffff:1'), '2001:db8::ffff:1');
  const networks: Record<string, string> = {
    '10.0.7.2': '10.0.7.2',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:db8:1:2::6': '2001:db8:1:2::/64',
    '2001:db8::6': '2001:db8:0:0::/64',
    '1:2::4:5:6:7:8': '1:2:0:4::/64',
    '2001:db8:0:0:1::': '2001:db8:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '::1': '0:0:0:0::/64',
    '1::': '1:0:0:0::/64',
  };
  for (const [client, network] of Object.entries(networks)) t.equal(networkOf(client), network, client);
  t.end();
});
