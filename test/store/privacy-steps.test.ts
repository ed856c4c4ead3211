import { expect, test } from 'vitest'
import { privacyPolicy } from '../../src/privacy/privacy-policy.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { aPage, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, tamper, valueOf } from '../support/mirror-file.ts'

const LATER_MS = START_MS + MINUTE_MS

test('a changed policy rewrites many rows in bounded steps, between which another organization is mirrored', async () => {
  const mirror = await aMirrorOfTwo()
  // Far from each other: rows of the other organization stand between them.
  addChanges(mirror, 'acme', { from: 1000, count: 15_000 })
  addChanges(mirror, 'globex', { from: 20_000, count: 50_000 })
  addChanges(mirror, 'acme', { from: 80_000, count: 15_000 })
  const other = await mirror.startRun({ organization: 'initech', trigger: 'sync', nowMs: LATER_MS })

  const left: number[] = []
  await hideNames(mirror, 'acme', async (step) => {
    left.push(namesIn(mirror, 'acme'))
    if (step === 3) await mirror.savePages(other, [aPage(1, customers(1, 3))], LATER_MS)
  })

  const rewritten = left.slice(1).map((count, at) => (left[at] ?? 0) - count)
  expect(Math.max(...rewritten)).toBeLessThanOrEqual(2000)
  expect(rewritten.filter((count) => count > 0).length).toBeGreaterThanOrEqual(15)
  expect([left.at(-1), namesIn(mirror, 'globex')]).toEqual([0, 50_000])
  expect(other.records.inserted).toBe(3)
})

async function aMirrorOfTwo(): Promise<Mirror> {
  const mirror = await aMirror()
  for (const organization of ['acme', 'globex']) await mirrorPages(mirror, [customers(1, 30)], { organization })
  return mirror
}

function addChanges({ file }: Mirror, organization: string, { from, count }: { from: number; count: number }): void {
  tamper(
    file,
    `WITH RECURSIVE number (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM number WHERE n < ${from + count - 1})
    INSERT INTO changes (seq, run_id, organization, id, change, fields, at)
    SELECT n, 1, '${organization}', CAST(n AS TEXT), 'changed', '{"name":["Ada","Eve"]}', '2026-01-05 00:00:00.000' FROM number`,
  )
}

/** Applies a policy to an organization in a run that begins, and calls `after` with the number of each step. */
async function hideNames(mirror: Mirror, organization: string, after: (step: number) => Promise<void> | void) {
  const privacy = privacyPolicy({ drop: ['name'] })
  const run = await mirror.startRun({ organization, trigger: 'sync', nowMs: LATER_MS, privacy })
  for (let step = 1, isMore = true; isMore; step += 1) {
    isMore = await mirror.applyPrivacy(run, LATER_MS)
    await after(step)
  }
}

/** How many changes of an organization still hold a name. */
function namesIn({ file }: Mirror, organization: string): number {
  const named = `SELECT count(*) FROM changes WHERE organization = ? AND CAST(fields AS TEXT) LIKE '%"name"%'`
  return Number(valueOf(file, named, organization))
}
