import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UsageError } from '../../src/errors/errors.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { openConfiguredSource, type RateLimits } from '../../src/sync/run-organization.ts'
import { PATIENT } from '../source/a-source.ts'
import { faultServer, list } from '../support/fault-server.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { configured, syncSandbox } from '../support/mirrored-sandbox.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox } from '../support/workplace.ts'

test.each([
  ['is refused', 'withdrawn', 'replaced', 'failed unauthorized, complete'],
  ['is not there yet', undefined, 'replaced', 'failed config, complete'],
  ['is empty while it is written', '', 'replaced', 'failed config, complete'],
  ['is refused and stays', 'withdrawn', undefined, 'failed unauthorized'],
  ['is refused and then removed', 'withdrawn', '', 'failed unauthorized'],
])('a key that %s is read again after its run, which is made once more where it was replaced', async (...row) => {
  const [, before, after, runs] = row
  const file = join(temporaryFolder(), 'key')
  const keep = (key: string) => writeFileSync(file, key, { mode: 0o600 })
  const sandbox = await aSandbox({ customers: 10 })
  const mirror = await openMirror(join(temporaryFolder(), 'mirror.db'))
  // A person replaces it while the run goes on.
  const startRun: typeof mirror.startRun = (...starting) => {
    if (after !== undefined) keep(after === 'replaced' ? (sandbox.organizations[0]?.apiKey ?? '') : after)
    return mirror.startRun(...starting)
  }
  if (before !== undefined) keep(before)
  await syncSandbox(sandbox, { ...mirror, startRun }, { apiKey: { file } })
  await mirror.close()

  const found = rowsOf(mirror.file, 'SELECT status, error_code FROM runs ORDER BY id')
  expect(found.map((run) => Object.values(run).filter(Boolean).join(' ')).join(', ')).toBe(runs)
})

test('an address that no request may be sent to is recorded as a failed run too', async () => {
  const mirror = await openMirror(join(temporaryFolder(), 'mirror.db'))
  const { error } = await syncSandbox(await aSandbox(), mirror, { baseUrl: new URL('http://192.0.2.1/api/v1') })
  await mirror.close()

  expect(error).toBeInstanceOf(UsageError)
  expect(rowsOf(mirror.file, 'SELECT status FROM runs')).toEqual([{ status: 'failed' }])
})

test('a changed number of requests at once holds from the next run on', async () => {
  const sandbox = await aSandbox({ customers: 10 })
  const rateLimits: RateLimits = new Map()
  for (const concurrency of [2, 8, 3]) {
    const waiting: (() => void)[] = []
    // As many as are expected at once are answered together.
    await using server = await faultServer((...answering) => {
      waiting.push(() => void list(900)(...answering))
      if (waiting.length === concurrency) for (const answer of waiting.splice(0)) answer()
    })
    const organization = { ...configured(sandbox, { concurrency }), baseUrl: server.baseUrl }
    const source = await openConfiguredSource(organization, {
      ...{ rateLimits, longestWaitMs: 1000, now: Date.now, monotonicMs: Date.now, random: () => 0 },
    })
    const read = (_: unknown, index: number) => source.readPage({ page: 1 + (index % 9), size: 100 }, PATIENT)
    await Promise.all(Array.from({ length: 3 * concurrency }, read))
    expect(server.mostInFlight).toBe(concurrency)
    source.close()
  }
})
