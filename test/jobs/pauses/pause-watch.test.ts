import { expect, test } from 'vitest'
import { watchPauses } from '../../../jobs/pauses/pause-watch.ts'
import { pauseText } from '../../../jobs/pauses/stored-pause.ts'
import { readConfig } from '../../../src/config/read-config.ts'
import { aWorkplace, organizationAt } from '../../support/workplace.ts'

const A_READING = { hash: 'a', readAtMs: 0, modifiedMs: 0 }
/** Half past ten in the morning. */
const NOW_MS = Date.UTC(2026, 0, 5, 10, 30)
const TEN_AT_NIGHT_MS = Date.UTC(2026, 0, 5, 22)

test('a job that waits for the end of a pause starts when that was set later, and comes', async () => {
  let nowMs = 1000
  const { promise: looked, resolve: look } = Promise.withResolvers<void>()
  const { promise: promoted, resolve: promote } = Promise.withResolvers<number>()
  let looks = 0
  const values = {
    list: async () => {
      looks += 1
      if (looks === 3) look()
      return new Map([['pause:acme', pauseText({ sinceMs: 0, untilMs: 2000, resumedMs: undefined })]])
    },
  }
  const job = {
    data: { organization: 'acme' },
    // It was put off while the end of the pause was not known.
    progress: { putOff: { why: 'pause' } },
    promote: async () => promote(nowMs),
  }
  const config = { reading: A_READING, organizationOf: () => undefined }
  const watching = { values, config, sync: Object({ getDelayed: async () => [job] }), lookMs: 1, now: () => nowMs }
  const watch = watchPauses({ ...watching, onUnreadable: () => {} })
  await looked
  nowMs = 2000

  expect(await promoted).toBe(2000)
  watch.stop()
})

test.each<[change: string, window: string | undefined, isStarted: boolean]>([
  ['takes the window away', undefined, true],
  ['opens it now', '10:00-12:00', true],
  ['opens it sooner', '20:00-06:00', true],
  ['opens it later', '23:00-06:00', false],
  ['leaves it as it was', '22:00-06:00', false],
])('a job that waits for a window starts when another configuration %s: %s', async (_change, written, isStarted) => {
  const { promise: looked, resolve: look } = Promise.withResolvers<void>()
  let [text, looks, promotions] = ['22:00-06:00' as string | undefined, 0, 0]
  const job = {
    data: { organization: 'acme' },
    progress: { putOff: { why: 'window', untilMs: TEN_AT_NIGHT_MS } },
    promote: async () => void (promotions += 1),
  }
  const organizations = await Promise.all([text, written].map(acmeWithin))
  const config = {
    get reading() {
      return { ...A_READING, hash: text === written ? 'b' : 'a' }
    },
    organizationOf: () => organizations[text === written ? 1 : 0],
  }
  const values = {
    list: async () => {
      looks += 1
      if (looks === 3) expect(promotions).toBe(0)
      if (looks === 3) text = written
      if (looks === 6) look()
      return new Map<string, string>()
    },
  }
  const watching = { values, config, sync: Object({ getDelayed: async () => [job] }), lookMs: 1, now: () => NOW_MS }
  const watch = watchPauses({ ...watching, onUnreadable: () => {} })
  await looked
  watch.stop()

  expect(promotions).toBe(isStarted ? 1 : 0)
})

async function acmeWithin(window: string | undefined) {
  const at = organizationAt({ baseUrl: new URL('http://127.0.0.1:1/api/v1') })
  const { config } = aWorkplace([at], { schedule: { cron: '0 2 * * *', timezone: 'UTC', ...(window && { window }) } })
  return (await readConfig({ file: config, cwd: '/' })).organizations[0]
}
