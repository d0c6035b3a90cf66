import type { MetricFamily } from '../metrics/family.ts';
import { answerJson, type ControlRoute } from './controlServer.ts';

/** Answers are cached for this long: many requests at once cost no more than one. */
const KEPT_MS = 100;

/** `GET /v1/metrics`: the metrics as values. The caller renders them: the Prometheus client takes memory and time. */
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
