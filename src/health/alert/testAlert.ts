import os from 'node:os';
import { OperatorError } from '../../base/operatorError.ts';
import { type CheckResult, type Finding, fail, ok, warn } from '../finding.ts';
import { NAMES } from './alerter.ts';
import { testMessage } from './alertMessage.ts';
import { type AlertSettings, ping, targetsOf } from './alertTargets.ts';

/** @returns the name of this box, as its messages have it. @param settings as in courtd.env. */
export function boxName({ COURTD_SHIP_BOX }: Readonly<Record<string, string | undefined>>): string {
  return COURTD_SHIP_BOX || os.hostname();
}

/** `courtd check --alert`: sends a message that says that it is a test to everyone who is to be told. Never throws. */
export async function testAlert(settings: Readonly<Record<string, string>>): Promise<CheckResult> {
  const { COURTD_ALERT_URL: url, COURTD_ALERT_COMMAND: command, COURTD_PING_URL: ping } = settings;
  try {
    return { name: 'alert', ...(await send({ url, command, ping }, boxName(settings))) };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { name: 'alert', ...fail(error.message, 'Correct it in /etc/courtd/courtd.env.') };
  }
}

async function send(settings: AlertSettings, box: string): Promise<Finding> {
  const message = testMessage(box, Date.now());
  const tries: Promise<{ name: string; fault: string | undefined }>[] = targetsOf(settings).map(
    async (target) => ({ name: NAMES[target.name], fault: await target.send(message) }),
  );
  if (settings.ping !== undefined) {
    tries.push(ping(settings.ping).then((fault) => ({ name: 'COURTD_PING_URL', fault })));
  }
  if (tries.length === 0) {
    return warn(
      'Nobody is told when something is wrong with this box.',
      'Set COURTD_ALERT_URL, COURTD_ALERT_COMMAND or COURTD_PING_URL in /etc/courtd/courtd.env.',
    );
  }
  const all = await Promise.all(tries);
  const failed = all.filter(({ fault }) => fault !== undefined);
  if (failed.length === 0)
    return ok(`${all.map(({ name }) => name).join(' and ')} took the test, sent from here.`);
  return fail(
    `${failed.map(({ name, fault }) => `${name} did not take the test: ${fault}`).join('; ')}.`,
    'Look at the setting in /etc/courtd/courtd.env, and at whoever is behind it.',
  );
}
