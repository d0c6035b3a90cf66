/** What a server reports on its monitoring port. */
export interface Monitored {
  /** As it was given. */
  readonly url: string;
  /** `server_name`; undefined where it could not be read. */
  readonly name?: string;
  readonly version?: string;
  /** Whether it syncs before it acknowledges; undefined where it does not say, or has no JetStream. */
  readonly syncAlways?: boolean;
  readonly hasJetStream?: boolean;
  /** Bytes of all streams on this server, and how many it accepts (`max_file_store`). */
  readonly storage?: { readonly used: number; readonly most: number };
  /** Why it could not be read. */
  readonly fault?: string;
}

const ANSWER_MS = 10_000;

/** Reads `/varz` of all servers at once. Never fails: what cannot be read says why. */
export function readMonitors(urls: readonly string[]): Promise<Monitored[]> {
  return Promise.all(urls.map(readMonitor));
}

async function readMonitor(url: string): Promise<Monitored> {
  try {
    const response = await fetch(new URL('varz', url.endsWith('/') ? url : `${url}/`), {
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!response.ok) return { url, fault: `it answers ${response.status}` };
    const { server_name, version, jetstream } = (await response.json()) as Varz;
    if (typeof server_name !== 'string' || typeof version !== 'string') {
      return { url, fault: 'it is not a NATS server' };
    }
    // Left out where it is false.
    const config = jetstream?.config;
    return {
      url,
      name: server_name,
      version,
      hasJetStream: config !== undefined && config !== null,
      syncAlways: config?.sync_always === true,
      storage: { used: jetstream?.stats?.storage ?? 0, most: config?.max_storage ?? 0 },
    };
  } catch (error) {
    const { name, cause, message } = error as Error;
    const { code, message: reason } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
    const why =
      name === 'TimeoutError'
        ? 'it does not answer'
        : name === 'SyntaxError'
          ? 'it is not a NATS server'
          : (code ?? reason ?? message);
    return { url, fault: why };
  }
}

interface Varz {
  readonly server_name?: unknown;
  readonly version?: unknown;
  readonly jetstream?: {
    readonly config?: { readonly sync_always?: boolean; readonly max_storage?: number } | null;
    readonly stats?: { readonly storage?: number };
  };
}
