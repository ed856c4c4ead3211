import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isPublishDue } from '../../jobs/publisher.ts'
import type { SandboxOptions } from '../../src/service/sandbox.ts'
import { eventually } from '../support/eventually.ts'
import { aJobsWorkplace, isEmbedded } from '../support/jobs-workplace.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { SOON, published } from '../support/publishing.ts'
import { message, startWorker, aWorkerOf } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

test('a worker publishes when all runs are over, tries again where it could not, and stops no run', async () => {
  const sandbox = await aSandbox({ customers: [50, 20, 3] })
  const place = aJobsWorkplace(organizationsOf(sandbox), { publish: { file: 'copy', parquet: 'rows' } })
  const file = join(place.folder, 'copy')
  writeFileSync(file, 'notes of a person')
  const worker = startWorker(place, { timings: SOON })
  await Promise.all(sandbox.organizations.map(({ id }) => worker.ran(id)))
  const { failure } = await worker.said(message('copy not published'))
  const folder = await worker.said(message('folder published'))
  rmSync(file)
  await worker.said(published)
  await worker.stop()

  expect(failure).toMatchObject({ code: 'usage', message: expect.stringContaining('not published by this program') })
  expect(folder).toMatchObject({ generation: 1, objects: 3, organizations: 3, gone: [] })
  const copied = rowsOf(file, 'SELECT customers FROM manifest ORDER BY organization')
  expect(copied.map(({ customers }) => customers)).toEqual([50, 20, 3])
  expect(worker.lines.join('\n')).not.toContain('@example')
})

const LIMITS = { publishQuietMs: 60, publishLatestMs: 3600, publishRestMs: 600 }
const NEVER = { isRunning: false, endedAtMs: undefined, publishedAtMs: undefined }

test.each<[what: string, state: Partial<Parameters<typeof isPublishDue>[0]>, nowMs: number, expected: boolean]>([
  ['the last run has just ended', { changedAtMs: 9000, endedAtMs: 9000 }, 9059, false],
  ['no run for a while', { endedAtMs: 0 }, 60, true],
  ['a first change, and a later one', { endedAtMs: 50 }, 100, false],
  ['a run is under way', { endedAtMs: 0, isRunning: true }, 1000, false],
  ['runs follow each other for too long', { endedAtMs: 3599, isRunning: true }, 3600, true],
  ['the last copy was made a moment ago', { endedAtMs: 0, publishedAtMs: -50 }, 500, false],
  ['the last copy was made some time ago', { endedAtMs: 0, publishedAtMs: -50 }, 550, true],
  ['too long, but the last attempt was a moment ago', { endedAtMs: 3599, publishedAtMs: 3500 }, 3600, false],
  ['something may have changed before this worker started', {}, 60, true],
])('whether a copy is made where something changed: %s', (_, state, nowMs, expected) => {
  expect(isPublishDue({ ...NEVER, changedAtMs: 0, ...state }, nowMs, LIMITS)).toBe(expected)
})

test('while a service is down, the page, the log and the queue say so, and the copy follows the other organizations', async () => {
  const intercept: SandboxOptions['intercept'] = async (context, next) =>
    context.req.header('X-API-Key') === sandbox.organizations[0]?.apiKey ? new Response('', { status: 503 }) : next()
  const settings = { publish: { file: 'copies/x.db' }, timings: SOON }
  const { sandbox, place, worker } = await aWorkerOf({ customers: [20, 30], intercept }, settings)
  const copy = join(place.folder, 'copies', 'x.db')
  const { http } = await worker.said(({ msg }) => msg === 'worker started')
  await worker.ran('globex')
  const page = await eventually(
    async () => (await (await fetch(`${String(http)}/`)).text()).replaceAll(/<[^>]*>|\s+/g, ' ').replaceAll(/ +/g, ' '),
    (text) => /service answers 503; attempt [2-9]; next/.test(text),
  )
  // A copy may have been made before that run ended.
  const inCopy = "SELECT customers FROM manifest WHERE organization = 'globex'"
  await expect.poll(() => existsSync(copy) && rowsOf(copy, inCopy)).toEqual([{ customers: 30 }])

  expect(page).toMatch(/acme Waiting .*The service answers 503; attempt \d; next in \d+ s\./)
  expect(page).not.toContain('Running')
  expect(worker.lines.join('\n')).toMatch(/"reason":"unavailable","status":503,"attempt":2/)
  if (isEmbedded) return
  expect((await place.json('queue')).jobs).toMatchObject([
    { organization: 'acme', state: 'running', why: 'outage', status: 503, attempt: expect.any(Number) },
  ])
})
