import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { VERSION } from '../../src/store/schema/schema.ts'
import { anEnding, aPage, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, dump, mirrorPages, rowsOf, tamper } from '../support/mirror-file.ts'
import { onPostgres } from '../support/mirror-choice.ts'

const OTHER = { name: 'MirrorUnusable', code: 'version' }

test('a run writes nothing more once another version has changed the mirror, and says so', async () => {
  const { mirror, run } = await aRunUnderway()
  const before = dump(mirror.file)

  await expect(mirror.savePages(run, [aPage(2, customers(4, 6))], START_MS)).rejects.toMatchObject({
    ...OTHER,
    message: expect.stringMatching(/another version of Customer Mirror.*version 2.*Use the version that made it/),
  })
  await expect(mirror.finishRun(run, anEnding(), START_MS)).rejects.toMatchObject(OTHER)
  const retention = { changesMs: 0, resolvedRejectsMs: 0, runsMs: 0, removedCustomersMs: 0 }
  const reckoning = { asOfMs: START_MS + 60 * 24 * 60 * MINUTE_MS, isConfirmed: true }
  await expect(mirror.prune('acme', retention, reckoning)).rejects.toMatchObject(OTHER)

  expect(dump(mirror.file)).toEqual(before)
})

test('such a run is recorded as failed, and gives its organization free', async () => {
  const { mirror, run } = await aRunUnderway()
  const error = { code: 'version', message: 'acme: made up' }

  await mirror.finishRun(run, anEnding({ status: 'failed', proof: 'unproven', reasons: ['failed'], error }), START_MS)

  expect(rowsOf(mirror.file, 'SELECT status, error_code FROM runs ORDER BY id DESC LIMIT 1')).toEqual([
    { status: 'failed', error_code: 'version' },
  ])
  expect(rowsOf(mirror.file, 'SELECT * FROM leases')).toEqual([])
})

/** A run that has saved a page, in a mirror that another version has changed since. */
async function aRunUnderway() {
  const mirror: Mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 3)])
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + MINUTE_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 3))], START_MS + MINUTE_MS)
  tamper(
    mirror.file,
    onPostgres ? 'UPDATE mirror_schema SET version = version + 1' : `PRAGMA user_version = ${VERSION + 1}`,
  )
  return { mirror, run }
}
