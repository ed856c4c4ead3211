import { setTimeout as sleep } from 'node:timers/promises'

/** Repeats until the answer is accepted, and returns it. Only the test's own time limit ends it. */
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
