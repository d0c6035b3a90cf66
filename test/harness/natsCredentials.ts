import { nkeys } from '@nats-io/transport-node';

/** Credentials as NATS's `nsc` makes them: an operator, an account with JetStream, and users of it (JWTs, version 2). */

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** @returns what the fleet guide lets a box do. */
export function permissionsOf(box: string): Permissions {
  return {
    publish: [`court.v1.${box}.*`, `$KV.court-status.${box}`, `$JS.API.DIRECT.GET.FLEET.court.v1.${box}.*`],
    subscribe: [`_INBOX.${box}.>`],
  };
}

type Key = ReturnType<typeof nkeys.createUser>;

const UNLIMITED = { subs: -1, data: -1, payload: -1 };
const ACCOUNT_LIMITS = { ...UNLIMITED, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
const JETSTREAM_LIMITS = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };

export class Authority {
  readonly #operator = nkeys.createOperator();
  readonly #account = nkeys.createAccount();
  readonly #system = nkeys.createAccount();
  /** Made once: a server does not take another one on a reload. */
  readonly #operatorToken = jwt('HQ', this.#operator, this.#operator, { type: 'operator' });
  readonly #systemToken = jwt('SYS', this.#system, this.#operator, {
    type: 'account',
    limits: ACCOUNT_LIMITS,
  });
  /** Users by their public key, and until when what they were given counts for nothing, in seconds. */
  readonly #revoked: Record<string, number> = {};

  /** Lines of the servers' configuration, as of now. */
  get configuration(): string {
    const [account, system] = [this.#account.getPublicKey(), this.#system.getPublicKey()];
    const limits = { ...ACCOUNT_LIMITS, ...JETSTREAM_LIMITS };
    const ofAccount = { limits, revocations: this.#revoked };
    return [
      `operator: ${this.#operatorToken}`,
      'resolver: MEMORY',
      `system_account: ${system}`,
      'resolver_preload {',
      `  ${account}: ${jwt('FLEET', this.#account, this.#operator, { type: 'account', ...ofAccount })}`,
      `  ${system}: ${this.#systemToken}`,
      '}',
    ].join('\n');
  }

  /** @returns a configuration that ends with such lines, with those of now. */
  renewed(text: string): string {
    return `${text.slice(0, text.indexOf('operator: '))}${this.configuration}\n`;
  }

  /** @returns the text of a credentials file; without permissions the user may do everything in the account. */
  issue(name: string, permissions?: Permissions): { creds: string; user: string } {
    const key = nkeys.createUser();
    const { publish, subscribe } = permissions ?? {};
    const token = jwt(name, key, this.#account, {
      type: 'user',
      ...UNLIMITED,
      pub: publish === undefined ? {} : { allow: publish },
      sub: subscribe === undefined ? {} : { allow: subscribe },
    });
    const seed = new TextDecoder().decode(key.getSeed());
    const part = (what: string, text: string) =>
      `-----BEGIN ${what}-----\n${text}\n------END ${what}------\n\n`;
    return { creds: part('NATS USER JWT', token) + part('USER NKEY SEED', seed), user: key.getPublicKey() };
  }

  /** From the next reload on the user is rejected. */
  revoke(user: string): void {
    this.#revoked[user] = Math.floor(Date.now() / 1_000) + 1;
  }
}

function jwt(name: string, subject: Key, issuer: Key, nats: Record<string, unknown>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const [iss, sub] = [issuer.getPublicKey(), subject.getPublicKey()];
  const claims = {
    jti: sub,
    iat: Math.floor(Date.now() / 1_000),
    iss,
    sub,
    name,
    nats: { ...nats, version: 2 },
  };
  const text = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claims)}`;
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`;
}
