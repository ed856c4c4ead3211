import type { Outcome, Progress } from '../../mirror-organization.ts'
import { monotonicMs } from '../../monotonic-clock.ts'
import type { SourceEvent } from '../../source/customers.ts'
import { screenOf } from '../io.ts'
import { plainLines, type Voice } from './voice.ts'

/** How a run tells how it is getting on. */
export type Talk = { onProgress: (progress: Progress) => void; onEvent: (event: SourceEvent) => void }

/** Organizations that are mirrored at the same time. */
const AT_ONCE = 8

/**
 * Runs `work` for every organization side by side and says how each is getting on: with live lines where `stderr` is a
 * terminal, else with a plain line when one is done or has to wait. One that fails stops no other.
 */
export async function showProgress<Item extends { id: string }>(
  items: readonly Item[],
  stderr: NodeJS.WritableStream,
  work: (item: Item, talk: Talk) => Promise<Outcome>,
  { stop, voice: given }: { stop?: AbortSignal; voice?: Voice | undefined } = {},
): Promise<Outcome[]> {
  const voice = given ?? (await voiceFor(items, stderr, stop))
  const outcomes: Outcome[] = []
  const unexpected: unknown[] = []
  const queue = [...items.entries()]
  const workOff = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, item] = next
      voice.began(item.id)
      try {
        const outcome = await work(item, talkWith(voice, item.id))
        outcomes[index] = outcome
        voice.ended(item.id, outcome)
      } catch (error) {
        unexpected.push(error)
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, workOff))
  } finally {
    voice.close()
  }
  if (unexpected.length > 0) throw unexpected[0]
  return outcomes
}

function talkWith(voice: Voice, id: string): Talk {
  return {
    onProgress: (progress) => voice.progress(id, progress),
    onEvent: (event) => voice.event(id, event),
  }
}

async function voiceFor(
  items: readonly { id: string }[],
  stderr: NodeJS.WritableStream,
  stop?: AbortSignal,
): Promise<Voice> {
  const ids = items.map(({ id }) => id)
  const screen = screenOf(stderr)
  if (screen === undefined) return plainLines(ids, stderr)
  const { liveLines } = await import('./live-lines.ts')
  return liveLines(ids, screen, monotonicMs, stop)
}
