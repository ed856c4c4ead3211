import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { publishFolder } from '../../../src/copies/objects/publish-objects.ts'
import type { FolderPlan } from '../../../src/copies/publish-plan.ts'
import { CLOCKS, night, organizationsOf, quickRun } from '../../store/nights.ts'
import { customerId, customers } from '../../support/builders.ts'
import { aDuckDb } from '../../support/exported-files.ts'
import { aMirror } from '../../support/mirror-file.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

async function aPublishedMirror(overrides: Partial<FolderPlan> = {}) {
  const mirror = await aMirror()
  for (const organization of ['acme', 'globex']) await night(mirror, 0, customers(1, 5), { organization })
  const parquet = join(temporaryFolder(), 'parquet')
  const plan = {
    mirror: mirror.file,
    parquet,
    withoutPersonalData: false,
    organizations: ['acme', 'soon'],
    ...overrides,
  }
  const published = await publishFolder(plan)
  /** Whether the file of each organization that the folder then holds was written anew. */
  const publishAgain = async () => {
    const again = await publishFolder({ ...plan, afterRuns: true })
    return again.parquet?.organizations.map(({ isNew }) => isNew)
  }
  return { mirror, plan, published, publishAgain }
}

const partsIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.parquet'))

test('a folder holds the customers of each organization, and names those that were never read', async () => {
  const { plan, published } = await aPublishedMirror()
  const rows = await (
    await aDuckDb()
  )
    .all(`SELECT organization, count(*) AS rows FROM read_parquet('${plan.parquet}/*/*.parquet', hive_partitioning = true)
    GROUP BY organization ORDER BY organization`)

  expect(rows).toEqual([
    { organization: 'acme', rows: '5' },
    { organization: 'globex', rows: '5' },
  ])
  expect(published).toMatchObject({
    parquet: { to: plan.parquet, organizations: [{ customers: 5 }, { customers: 5 }] },
    leftOut: [{ organization: 'soon', reason: 'never-read' }],
  })
  expect(JSON.parse(readFileSync(join(plan.parquet, '_manifest.json'), 'utf8'))).toMatchObject({
    written_at: published.parquet?.writtenAt,
    organizations: [
      { object: 'organization=acme/part-0.parquet', rows: 5 },
      { object: 'organization=globex/part-0.parquet', rows: 5 },
    ],
  })
})

test('without personal data there is none, and every user may read it', async () => {
  const { plan } = await aPublishedMirror({ withoutPersonalData: true })
  const [first = ''] = partsIn(plan.parquet)
  const described = await (await aDuckDb()).all(`DESCRIBE FROM '${join(plan.parquet, first)}'`)
  const names = described.map(({ column_name: name }) => name)

  expect(names).toEqual(expect.arrayContaining(['id', 'language', 'is_active']))
  expect(names).not.toEqual(expect.arrayContaining(['email']))
  expect([plan.parquet, join(plan.parquet, first)].map((path) => statSync(path).mode & 0o777)).toEqual([0o755, 0o444])
})

test('a file is written anew after a night and a forgotten customer, goes with a retirement, and stays after a quick run that found nothing', async () => {
  const { mirror, plan, publishAgain } = await aPublishedMirror()
  const seen = [await publishAgain()]
  await quickRun(mirror, 0, [])
  seen.push(await publishAgain())
  await mirror.forgetCustomer({ organization: 'acme', id: customerId(2), ...CLOCKS })
  seen.push(await publishAgain())
  await (await organizationsOf(mirror.file)).retire('globex', CLOCKS)
  seen.push(await publishAgain())
  await night(mirror, 1, customers(1, 7))
  seen.push(await publishAgain())

  expect(seen).toEqual([[false, false], [false, false], [true, false], [false], [true]])
  expect(partsIn(plan.parquet)).toEqual(['organization=acme/part-0.parquet'])
})

test('a folder that holds something else is left as it is', async () => {
  const { plan } = await aPublishedMirror()
  const part = join(plan.parquet, 'organization=acme', 'part-1.parquet')
  writeFileSync(part, 'of someone')

  await expect(publishFolder(plan)).rejects.toThrow('was not written by this program')
  expect(readFileSync(part, 'utf8')).toBe('of someone')
})
