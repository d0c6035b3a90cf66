import { JetStreamApiError } from '@nats-io/jetstream';
import { type NatsConnection, RequestError } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { shownUrl } from '../nats/address.ts';
import { connectionFault, connectTo } from '../nats/connect.ts';
import { faultOf } from '../nats/fault.ts';
import { refusalIn } from './retries.ts';

export interface FleetOptions {
  readonly creds?: string;
  readonly ca?: string;
}

/**
 * Connects to headquarters, runs `work` and closes the connection.
 * @throws {OperatorError} where the servers do not answer, or refuse: what happened and what to do.
 */
export async function withHeadquarters<Result>(
  url: string,
  { creds, ca }: FleetOptions,
  work: (nc: NatsConnection) => Promise<Result>,
  forever = false,
): Promise<Result> {
  const nc = await connectTo({ url, creds, ca, name: 'courtd fleet', forever });
  try {
    return await work(nc);
  } catch (error) {
    // Where the connection has ended for good, that says more than what the work made of it.
    const end = nc.isClosed() ? await nc.closed() : undefined;
    throw end ? new OperatorError(connectionFault(end, shownUrl(url))) : explained(error, url);
  } finally {
    await nc.close();
  }
}

function explained(error: unknown, url: string): unknown {
  const where = shownUrl(url);
  const refusal = refusalIn(error);
  if (refusal !== undefined) {
    return new OperatorError(
      `${where} does not let this user use ${refusal.subject}. Use the credentials of headquarters: a box may not read the fleet.`,
    );
  }
  if (error instanceof JetStreamApiError) {
    return new OperatorError(`${where} refuses: ${error.message}. It may be electing a leader: try again.`);
  }
  if (error instanceof RequestError || ['unready', 'silent'].includes(faultOf(error).fault)) {
    return new OperatorError(
      `${where} does not answer for JetStream. Look whether it is enabled for this account, and whether more than half of the servers run.`,
    );
  }
  return error;
}
