import { answerJson, type ControlRoute } from './controlServer.ts';

export const PROBE_PATH = '/v1/probe';

export interface ProbeAnswer {
  /** The value of PROBE_HEADER, good for one request. */
  readonly mark: string;
}

/** `POST /v1/probe`: a mark for one request to the TCP port, which is then not counted as refused. */
export function probeRoute(issue: () => string): ControlRoute {
  return {
    method: 'POST',
    path: PROBE_PATH,
    answer: (_req, res) => {
      const answer: ProbeAnswer = { mark: issue() };
      answerJson(res, answer);
    },
  };
}
