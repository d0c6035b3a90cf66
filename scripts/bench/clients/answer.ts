export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** @returns the first answer of what was received; undefined until it is complete, by its Content-Length. */
export function parseAnswer(received: string): Answer | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received)?.[1] ?? 0);
  if (received.length < headEnd + 4 + length) return undefined;
  return { status: Number(received.slice(9, 12)), body: received.slice(headEnd + 4) };
}

/** @returns whether all events of a request were accepted; InfluxDB says so with no body. */
export function isAccepted({ status, body }: Answer, events: number): boolean {
  const accepted = body === '' ? events : (JSON.parse(body) as { accepted?: number }).accepted;
  return status >= 200 && status < 300 && accepted === events;
}
