import type { Mirror } from '../../src/model/mirror.ts'
import type { Pause } from '../../src/model/pause.ts'
import { type Overview, readOverview } from '../../src/status/overview.ts'
import { dueEveryNight, IN_STATES, LOOKED_AT_MS, mirrorAllStates } from './full-mirror.ts'
import { aPlayedMirror } from './mirror-file.ts'

/** The overview of organizations in all states. */
export async function overviewOfAll(paused: Record<string, Pause> = {}): Promise<Overview> {
  return overviewOf(await aPlayedMirror(mirrorAllStates), IN_STATES, paused)
}

/** The overview of a mirror. */
export function overviewOf(
  mirror: Mirror,
  ids: readonly string[],
  paused: Record<string, Pause> = {},
): Promise<Overview> {
  const organizations = ids.map((id) => ({ id, dueOf: dueEveryNight, paused: paused[id] }))
  return readOverview(mirror, { organizations, nowMs: LOOKED_AT_MS, monotonicMs: undefined })
}

/** The text of each card, by its organization. */
export function cardsOf(page: string): Map<string, string> {
  const cards = page.split('<article').slice(1)
  return new Map(
    cards.map((card) => [
      /<h3>(.*?)<\/h3>/.exec(card)?.[1] ?? '',
      card
        .replaceAll(/<svg[^]*?<\/svg>|<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ]),
  )
}
