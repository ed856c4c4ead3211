import { expect, test } from 'vitest'
import { syncCommand } from '../../src/cli/sync.ts'
import { list, refusal } from '../support/fault-server.ts'
import { onlyRun, syncRuns } from '../support/json-page.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

test('a sync appends one line of JSON to a file, whatever its result', async () => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [3, 4], forbidden: ['globex'] })))
  const nights = [await runCli(['sync', '--json'], { cwd: folder }), await runCli(['sync', '--json'], { cwd: folder })]
  const lines = nights
    .map(({ stdout }) => stdout)
    .join('')
    .split('\n')

  expect(lines).toHaveLength(3)
  expect(lines.at(-1)).toBe('')
  expect(lines.slice(0, 2).map((line) => syncRuns(line).map(({ status }) => status))).toEqual([
    ['complete', 'failed'],
    ['complete', 'failed'],
  ])
})

test('each run of the document is known by its number and its times, as they are in the mirror', async () => {
  const { folder, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [3, 4], forbidden: ['globex'] })))
  await runCli(['sync', 'acme'], { cwd: folder })
  const runs = syncRuns((await runCli(['sync', '--json'], { cwd: folder })).stdout)
  const stored = rowsOf(mirror, 'SELECT id, started_at, finished_at, organization FROM runs WHERE id > 1')
  const inMirror = (iso: string | null) => iso?.replace('T', ' ').replace('Z', '')

  expect(
    runs
      .map(({ runId, startedAt, finishedAt, organization }) => {
        return { id: runId, started_at: inMirror(startedAt), finished_at: inMirror(finishedAt), organization }
      })
      .toSorted((a, b) => Number(a.id) - Number(b.id)),
  ).toEqual(stored)
})

test('a dry run has no number: another run will get that number', async () => {
  const { folder, mirror } = aWorkplace([organizationAt(await aFaultServer(list(3)))])
  await runCli(['sync'], { cwd: folder })

  expect(onlyRun((await runCli(['sync', '--dry-run', '--json'], { cwd: folder })).stdout).runId).toBeNull()
  expect(valueOf(mirror, 'SELECT count(*) FROM runs')).toBe(1)
})

test('a run that continued another one reports it, and the number of customers read before', async () => {
  const page = list(800)
  const busy = refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '3600' })
  const acme = organizationAt(await aFaultServer(page, page, page, page, busy, page))
  const impatient = aWorkplace([acme], { defaults: { scan: 'chain', concurrency: 1, maxWait: '0s' } })
  const patient = aWorkplace([acme], { defaults: { scan: 'chain' }, mirror: impatient.mirror })
  const first = onlyRun((await runCommand(syncCommand, ['--json', '--config', impatient.config])).stdout)
  const second = onlyRun((await runCommand(syncCommand, ['--json', '--config', patient.config])).stdout)

  expect(first).toMatchObject({ status: 'failed', pages: 4, resumedFrom: null, readBefore: 0 })
  expect(second).toMatchObject({ status: 'complete', proof: 'proven', resumedFrom: 1, readBefore: first.inserted })
  expect(second.readBefore + second.received - second.duplicates).toBe(800)
  expect(rowsOf(patient.mirror, 'SELECT id, read_before FROM runs')).toEqual([
    { id: 1, read_before: 0 },
    { id: 2, read_before: first.inserted },
  ])
})
