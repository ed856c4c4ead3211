import { setTimeout as sleep } from 'node:timers/promises'

/** Asks until the answer pleases, and gives it. The test's own time limit is the only one. */
export async function eventually<Answer>(
  ask: () => Answer | Promise<Answer>,
  pleases: (answer: Answer) => boolean,
): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (pleases(answer)) return answer
    await sleep(25)
  }
}
