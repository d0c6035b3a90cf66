/**
 * What keeps a connection from being made, or used:
 *
 * - credentials: they are missing, wrong, expired or revoked. permissions: they do not allow it.
 * - name: the certificate is for another one. untrusted: nobody who is trusted here has signed it. validity: not at this time.
 * - tls: both sides do not agree on it.
 * - unready: the servers are there, and nothing behind them. silent: no answer in time.
 * - away: anything else; the code says what.
 */
export type NatsFault =
  | 'credentials'
  | 'permissions'
  | 'name'
  | 'untrusted'
  | 'validity'
  | 'tls'
  | 'unready'
  | 'silent'
  | 'away';

const UNTRUSTED = /^(DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET_ISSUER)|^CERT_/;

/** @returns what an error of the system, of Node's TLS or of NATS's library means, and the system's or TLS's code; '' without one. */
export function faultOf(error: unknown): { fault: NatsFault; code: string } {
  const chain: NodeJS.ErrnoException[] = [];
  // Libraries put the system's error into theirs.
  for (let one = error; one instanceof Error; one = one.cause) chain.push(one);
  const code = chain.map(({ code }) => code).find((code) => typeof code === 'string') ?? '';
  const text = chain.map(({ message }) => message).join(' ');
  const isNamed = (pattern: RegExp) => chain.some(({ name }) => pattern.test(name));
  const faults: readonly [NatsFault, boolean][] = [
    [
      'credentials',
      isNamed(/^(Authorization|UserAuthentication)/) || /authorization|authentication/i.test(text),
    ],
    ['permissions', isNamed(/^PermissionViolation/) || /permissions violation/i.test(text)],
    ['name', code === 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['validity', code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID'],
    ['untrusted', UNTRUSTED.test(code)],
    ['tls', /^ERR_(SSL|TLS)_|^EPROTO$/.test(code) || (code === '' && /\btls\b/i.test(text))],
    ['unready', isNamed(/^NoResponders/)],
    ['silent', isNamed(/^Timeout/)],
  ];
  return { fault: faults.find(([, isSo]) => isSo)?.[0] ?? 'away', code };
}
