import { spawnSync } from 'node:child_process'
import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { BOOT_NAME, nameOfProcess } from '../../src/machine/process-name.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { LEASE_MS } from '../../src/store/refusals.ts'
import { aMirrorOf } from './nights.ts'
import { anEnding, aPage, customerId, customers, START_MS, HOUR_MS } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, tamper, valueOf } from '../support/mirror-file.ts'

const start = (mirror: Mirror, afterMs = 0, monotonicMs?: () => number) =>
  mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + afterMs, monotonicMs })

const YEAR_MS = 365 * 86_400_000
const LEASED = expect.objectContaining({ name: 'OrganizationLeased', code: 'leased' })

test('while a run holds its organization, which each page that it saves prolongs, no other one starts, and none is recorded', async () => {
  const mirror = await aMirror()
  const run = await start(mirror)

  const second = start(await aMirror(mirror.file))

  await expect(second).rejects.toThrow(LEASED)
  const place = `process ${process.pid} on ${hostname()}, since 2026-01-05 02:00 UTC`
  await expect(second).rejects.toThrow(`acme: run ${run.id} (${place}) is mirroring it now. Let it finish, or stop it;`)
  await mirror.savePages(run, [aPage(1, customers(1, 2))], START_MS + LEASE_MS - 1)
  await expect(start(mirror, LEASE_MS)).rejects.toThrow(LEASED)
  expect(valueOf(mirror.file, 'SELECT count(*) FROM runs')).toBe(1)
})

test('the organization of a process that is gone is taken over at once, by a command and then by a run', async () => {
  const mirror = await aMirrorOf(customers(1, 1))
  const { id } = await start(mirror, 0, () => 5000)
  tamper(mirror.file, 'UPDATE leases SET holder = ?', holderWithPid(goneProcess()))

  await mirror.forgetCustomer({ organization: 'acme', id: customerId(1), nowMs: START_MS, monotonicMs: 5000 })
  const run = await start(mirror, 0, () => 5000)

  expect(run.id).toBeGreaterThan(id)
  expect(valueOf(mirror.file, 'SELECT status FROM runs WHERE id = ?', id)).toBe('interrupted')
})

test.runIf(onPostgres)('a process of another machine of that name keeps its lease, whatever its number', async () => {
  const mirror = await aMirror()
  await start(mirror)
  tamper(mirror.file, 'UPDATE leases SET holder = ?', holderWithPid(goneProcess(), { boot: 'another' }))

  await expect(start(mirror)).rejects.toThrow(LEASED)
})

test.each([
  ['this machine', undefined],
  ['another machine, which counts as alive until then,', `elsewhere.example.com#${goneProcess()}`],
])('a lease of a process of %s expires after a minute without renewal, and not earlier', async (_, holder) => {
  const mirror = await aMirror()
  await start(mirror)
  if (holder !== undefined) tamper(mirror.file, 'UPDATE leases SET holder = ?', holder)

  await expect(start(mirror, LEASE_MS - 1)).rejects.toThrow(LEASED)
  await expect(start(mirror, LEASE_MS)).resolves.toBeDefined()
})

/** A process of this machine; without its start where the system does not say. */
function holderWithPid(processId: number, { startedAt = '', boot = BOOT_NAME ?? '' } = {}): string {
  return nameOfProcess().replace(/#\d+#\d+$/, `#${processId}#${startedAt}#${boot}`)
}

function goneProcess(): number {
  return spawnSync('true').pid
}

test.each([HOUR_MS, YEAR_MS, -HOUR_MS, -YEAR_MS])('with a clock set by %d ms a lease lasts a minute', async (byMs) => {
  const mirror = await aMirror()
  await start(mirror, 0, () => 5000)

  const second = start(await aMirror(mirror.file), byMs, () => 5000 + LEASE_MS - 1)

  await expect(second).rejects.toThrow(LEASED)
  // A command that read its clock, and then waited for the file while the run renewed its lease.
  await expect(start(mirror, byMs, () => 4000)).rejects.toThrow(LEASED)
  expect(valueOf(mirror.file, 'SELECT count(*) FROM runs')).toBe(1)
  expect(valueOf(mirror.file, 'SELECT boot FROM leases')).toBe(onPostgres ? null : (BOOT_NAME ?? hostname()))
  await expect(start(mirror, byMs, () => 5000 + LEASE_MS)).resolves.toBeDefined()
})

test.each([-5 * YEAR_MS, 5 * YEAR_MS])('with a wall clock set by %d ms a run took as long as it did', async (byMs) => {
  const mirror = await aMirror()
  let monotonicMs = 0
  const run = await start(mirror, 0, () => monotonicMs)
  monotonicMs = HOUR_MS
  const told = await mirror.finishRun(run, anEnding(), START_MS + byMs)

  expect(told.durationMs).toBe(HOUR_MS)
  expect(await mirror.listRuns({ limit: 1 })).toEqual([told])
  expect(valueOf(mirror.file, 'SELECT finished_at >= started_at FROM runs')).toBe(1)
})
