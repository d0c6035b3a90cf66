import type { Command } from 'commander';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { askStatus } from '../../control/controlClient.ts';
import { shipFinding } from '../../fleet/feed/shipFinding.ts';
import type { CheckContext } from '../../health/checks/box.ts';
import { Progress } from '../terminal/output.ts';
import { VARIABLES, variableFault } from './environmentVariables.ts';

/** @returns what the checks of a box need to be told. */
export function checkContextOf(program: Command, data: DataDirectory): CheckContext {
  return {
    variables: {
      isKnown: (name) => VARIABLES.includes(name),
      faultOf: (name, value) => variableFault(program, name, value),
    },
    progress: new Progress(),
    askDaemon: () => askStatus(data),
    checkShipping: (settings) => shipFinding(data, settings),
  };
}
