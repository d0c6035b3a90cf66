import type { MetricFamily } from '../metrics/family.ts';
import { answerJson, type ControlRoute } from './controlServer.ts';

/** Answers are good for so long: many who ask at once cost no more than one. */
const KEPT_MS = 100;

/** `GET /v1/metrics`: the metrics as values. Whoever asks makes text of them: the client that does takes memory and time. */
export function metricsRoute(look: () => Promise<readonly MetricFamily[]>): ControlRoute {
  let [kept, lookedAt]: [Promise<readonly MetricFamily[]> | undefined, number] = [undefined, 0];
  return {
    method: 'GET',
    path: '/v1/metrics',
    answer: async (_req, res) => {
      const now = performance.now();
      if (kept === undefined || now - lookedAt > KEPT_MS) [kept, lookedAt] = [look(), now];
      answerJson(res, await kept);
    },
  };
}
