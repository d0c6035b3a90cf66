/** @returns a client's address as people write it: an IPv4 one without its IPv6 prefix (RFC 4291, 2.5.5.2). */
export function clientOf(remoteAddress: string): string {
  return remoteAddress.replace(/^::ffff:(?=[\d.]+$)/i, '');
}

/**
 * What limits count by: an IPv4 address, or the /64 of an IPv6 one, of which one machine has as many addresses as it likes.
 * @param client as clientOf gives it.
 */
export function networkOf(client: string): string {
  if (!client.includes(':')) return client;
  const [left = '', right] = client.replace(/%.*$/, '').split('::');
  const groups = left === '' ? [] : left.split(':');
  if (right !== undefined) {
    const tail = right === '' ? [] : right.split(':');
    while (groups.length + tail.length < 8) groups.push('0');
    groups.push(...tail);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
