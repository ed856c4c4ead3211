import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { partitionFolder } from '../../../src/copies/objects/object-place.ts'
import { publishFolder } from '../../../src/copies/objects/publish-objects.ts'
import type { FolderPlan } from '../../../src/copies/publish-plan.ts'
import { lockPlace } from '../../../src/copies/written-file.ts'
import { CLOCKS, night, organizationsOf, quickRun } from '../../store/nights.ts'
import { customerId, customers } from '../../support/builders.ts'
import { aDuckDb } from '../../support/exported-files.ts'
import { failOnDisk } from '../../support/failing-disk.ts'
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
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.parquet'))
    .toSorted()

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

const PARTS = ['acme', 'globex'].map((id) => `organization=${id}/part-0.parquet`)

test.each<[what: string, change: (folder: string) => void]>([
  ['another part', (folder) => writeFileSync(join(folder, 'organization=acme', 'part-1.parquet'), 'of someone')],
  ['another manifest', (folder) => writeFileSync(join(folder, '_manifest.json'), '{}')],
  ['a link to another folder', (folder) => symlinkSync(temporaryFolder(), join(folder, 'organization=initech'))],
])('a folder that holds something else is left as it is: %s', async (_, change) => {
  const { plan } = await aPublishedMirror()
  const contents = () => partsIn(plan.parquet).map((name) => [name, readFileSync(join(plan.parquet, name), 'latin1')])
  change(plan.parquet)
  const before = contents()

  await expect(publishFolder(plan)).rejects.toMatchObject({ code: 'usage' })
  expect(contents()).toEqual(before)
})

test('a publish that is killed while files are replaced leaves whole files of both, which the next one replaces', async () => {
  const { mirror, plan } = await aPublishedMirror()
  const [file, old] = [join(plan.parquet, PARTS[0] ?? ''), readFileSync(join(plan.parquet, PARTS[0] ?? ''))]
  for (const organization of ['acme', 'globex', 'initech']) await night(mirror, 1, customers(1, 7), { organization })
  const repair = failOnDisk('renameSync', (_from, to) => String(to).includes('initech'))
  await expect(publishFolder(plan)).rejects.toMatchObject({ code: 'full' })
  repair()
  writeFileSync(file, old)
  writeFileSync(join(plan.parquet, 'organization=acme', '.part-0.parquet.0123456789abcdef.unfinished'), 'half')
  await publishFolder(plan)

  expect(readFileSync(file)).not.toEqual(old)
  expect(partsIn(plan.parquet)).toEqual([...PARTS, 'organization=initech/part-0.parquet'])
  expect(readdirSync(join(plan.parquet, 'organization=acme'))).toEqual(['part-0.parquet'])
})

test('a publish that leaves personal data out, and is killed while files are replaced, leaves none behind after the next one', async () => {
  const { mirror, plan } = await aPublishedMirror()
  const withoutAny = { ...plan, withoutPersonalData: true }
  await night(mirror, 1, customers(1, 7), { organization: 'initech' })
  for (const organization of ['globex', 'initech']) {
    const repair = failOnDisk('renameSync', (_from, to) => String(to).includes(organization))
    await expect(publishFolder(withoutAny)).rejects.toMatchObject({ code: 'full' })
    repair()
  }
  await publishFolder(withoutAny)

  expect(partsIn(plan.parquet)).toEqual([...PARTS, 'organization=initech/part-0.parquet'])
  for (const part of partsIn(plan.parquet)) {
    const described = await (await aDuckDb()).all(`DESCRIBE FROM '${join(plan.parquet, part)}'`)
    expect(described.map(({ column_name: name }) => name)).not.toContain('email')
  }
})

test('a file that a killed publish replaced is written anew, though it is as long, and the mirror as it was before', async () => {
  const { plan } = await aPublishedMirror()
  const file = join(plan.parquet, PARTS[0] ?? '')
  const read = async () => (await aDuckDb()).all(`FROM '${file}' ORDER BY id`)
  const [size, before] = [statSync(file).size, await read()]
  const later = await aMirror()
  for (const organization of ['acme', 'globex']) await night(later, 1, customers(1, 5), { organization })
  const repair = failOnDisk('renameSync', (_from, to) => String(to).includes('globex'))
  await expect(publishFolder({ ...plan, mirror: later.file })).rejects.toMatchObject({ code: 'full' })
  repair()
  const [sizeOfReplaced, replaced] = [statSync(file).size, await read()]
  await publishFolder(plan)

  expect(sizeOfReplaced).toBe(size)
  expect(replaced).not.toEqual(before)
  expect(await read()).toEqual(before)
})

test('a part that was changed, or is gone, is written anew', async () => {
  const { plan, publishAgain } = await aPublishedMirror()
  appendFileSync(join(plan.parquet, PARTS[0] ?? ''), 'x')
  rmSync(join(plan.parquet, PARTS[1] ?? ''))

  expect(await publishAgain()).toEqual([true, true])
  expect(await publishAgain()).toEqual([false, false])
})

test('a publish while another one writes there ends as busy, and changes nothing', async () => {
  const { plan } = await aPublishedMirror()
  const held = lockPlace(join(plan.parquet, 'organization'))
  await expect(publishFolder(plan)).rejects.toMatchObject({ code: 'busy' })
  held.release()

  expect(partsIn(plan.parquet)).toEqual(PARTS)
})

test.each<[what: string, fail: () => void, left: 'old' | 'new', said: RegExp]>([
  [
    'between two partitions leaves those of two publishes',
    () => failOnDisk('renameSync', (_from, to) => String(to).includes('globex')),
    'new',
    /but not all of it: each partition is of this publish or of the one from before/,
  ],
  ['before leaves the set from before', () => failOnDisk('fsyncSync', () => true), 'old', /EIO/],
])('a disk that fails %s', async (_, fail, left, said) => {
  const { mirror, plan } = await aPublishedMirror()
  const before = readFileSync(join(plan.parquet, PARTS[0] ?? ''))
  for (const organization of ['acme', 'globex']) await night(mirror, 1, customers(1, 7), { organization })
  fail()

  await expect(publishFolder(plan)).rejects.toThrow(
    expect.objectContaining({ code: 'full', message: expect.stringMatching(said) }),
  )
  expect(readFileSync(join(plan.parquet, PARTS[0] ?? '')).equals(before)).toBe(left === 'old')
  expect(partsIn(plan.parquet)).toEqual(PARTS)
})

test.each([
  ['acme', 'organization=acme'],
  ['a.b_c-d', 'organization=a.b_c-d'],
  ['..', 'organization=..'],
  ['a/../b', 'organization=a%2F..%2Fb'],
  ['100%', 'organization=100%25'],
  ['a=b:c', 'organization=a%3Db%3Ac'],
  ['', 'organization=__HIVE_DEFAULT_PARTITION__'],
])('the folder of the organization %j', (organization, folder) => {
  expect(partitionFolder(organization)).toBe(folder)
})
