/** @returns a client's address as people write it: an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) without its prefix. */
export function clientAddress(remoteAddress: string): string {
  return remoteAddress.replace(/^::ffff:(?=[\d.]+$)/i, '');
}

/**
 * The key that limits count by: the IPv4 address, or the /64 of the IPv6 address, since one machine can have as many addresses
 * of its /64 as it likes.
 * @param client as `clientAddress` returns it.
 */
export function networkOf(client: string): string {
  if (!client.includes(':')) return client;
  const [left = '', right] = client.split('::');
  const groups = left === '' ? [] : left.split(':');
  if (right !== undefined) {
    const tail = right === '' ? [] : right.split(':');
    while (groups.length + tail.length < 8) groups.push('0');
    groups.push(...tail);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
