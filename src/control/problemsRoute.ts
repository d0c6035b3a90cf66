import type { DataDirectory } from '../base/dataDirectory.ts';
import type { ProblemReport } from '../health/alert/problemReport.ts';
import { askDaemon } from './controlClient.ts';
import { type ControlRoute, jsonRoute } from './controlServer.ts';

const PROBLEMS_PATH = '/v1/problems';

/** `GET /v1/problems`. @param report null where they cannot be told now. */
export function problemsRoute(report: () => Promise<ProblemReport | null>): ControlRoute {
  // One at a time, however often it is asked for.
  let asked: Promise<ProblemReport | null> | undefined;
  return jsonRoute(PROBLEMS_PATH, () => {
    asked ??= report().finally(() => {
      asked = undefined;
    });
    return asked;
  });
}

/** @returns undefined where no daemon runs. @throws as askDaemon. */
export function askProblems(data: DataDirectory): Promise<ProblemReport | null | undefined> {
  return askDaemon(data, PROBLEMS_PATH);
}
