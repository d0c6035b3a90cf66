import { answerJson, type ControlRoute } from './controlServer.ts';

/** How long an answer is reused: many clients that ask at once cost no more than one. */
const KEPT_MS = 100;

/** `GET path`: what `look` returns, as JSON. */
export function cachedRoute<Answer>(path: string, look: () => Answer | Promise<Answer>): ControlRoute {
  let [kept, lookedAt]: [Answer | Promise<Answer> | undefined, number] = [undefined, 0];
  return {
    method: 'GET',
    path,
    answer: async (_req, res) => {
      const now = performance.now();
      if (kept === undefined || now - lookedAt > KEPT_MS) [kept, lookedAt] = [look(), now];
      answerJson(res, await kept);
    },
  };
}
