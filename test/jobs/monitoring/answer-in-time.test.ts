import { expect, test } from 'vitest'
import { answeringInTime } from '../../../jobs/run/live-mirror.ts'
import { createPages } from '../../../jobs/monitoring/endpoints.ts'
import { aMirror } from '../../support/mirror-file.ts'

test('a server that does not answer takes neither the page nor a connection of more than a few look-ups', async () => {
  const frozen = aFrozenServer()
  const looks = answeringInTime({ ...(await aMirror()), ...frozen }, { lookMs: 1, countMs: 3_600_000 })
  const shown = { mirror: looks, organizations: () => [], now: () => 0, monotonicMs: () => 0 }

  const answers = [await createPages(shown).request('/'), await createPages(shown).request('/runs/1')]

  expect(answers.map(({ status }) => status)).toEqual([503, 503])
  await expect(looks.listLastRuns()).rejects.toMatchObject({ code: 'gone' })
  const asked = frozen.asked()
  for (let times = 0; times < 20; times += 1) await expect(looks.listHeldRemovals()).rejects.toThrow('does not answer')
  expect(frozen.asked()).toBe(asked)
})

/** Look-ups that have no answer. */
function aFrozenServer() {
  let asked = 0
  const none = () => {
    asked += 1
    return new Promise<never>(() => {})
  }
  const lists = { listFreshness: none, listHeldRemovals: none, listLastRuns: none, listLatestRuns: none }
  return { findRun: none, ...lists, listUncountedFreshness: none, listUnderway: none, asked: () => asked }
}
