import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { partitionFolder } from '../../../src/copies/objects/object-place.ts'
import { publishFolder } from '../../../src/copies/objects/publish-objects.ts'
import { lockPlace } from '../../../src/copies/written-file.ts'
import { CLOCKS, night, organizationsOf } from '../../store/nights.ts'
import { damaged } from '../../support/backing-up.ts'
import { customers } from '../../support/builders.ts'
import { aDuckDb } from '../../support/exported-files.ts'
import { failOnDisk } from '../../support/failing-disk.ts'
import { aMirror, temporaryFolder } from '../../support/mirror-file.ts'
import { aMirrorOfTwo } from '../../support/publishing.ts'

const PARTS = ['acme', 'globex'].map((id) => `organization=${id}/part-0.parquet`)

async function aPublishedMirror({ withoutPersonalData = false } = {}) {
  const mirror = await aMirrorOfTwo()
  const parquet = join(temporaryFolder(), 'parquet')
  const plan = { mirror: mirror.file, parquet, withoutPersonalData, organizations: ['acme', 'soon'] }
  const published = await publishFolder(plan)
  /** Whether the file of each organization that the folder then holds was written anew. */
  const publishAgain = async () => {
    const again = await publishFolder({ ...plan, afterRuns: true })
    return again.parquet?.organizations.map(({ isNew }) => isNew)
  }
  /** A publish that fails, as a killed one ends, when it is about to put the file of this organization in its place. */
  const failAt = async (organization: string, change = {}) => {
    const repair = failOnDisk('renameSync', (_from, to) => String(to).includes(organization))
    await expect(publishFolder({ ...plan, ...change })).rejects.toMatchObject({ code: 'full' })
    repair()
  }
  const [acme = '', globex = ''] = PARTS.map((part) => join(parquet, part))
  return { mirror, plan, published, publishAgain, failAt, acme, globex }
}

const partsIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.parquet'))
    .toSorted()

test('a folder holds the customers of each organization, and names those that were never read', async () => {
  const { plan, published } = await aPublishedMirror()
  const duck = await aDuckDb()
  const files = `read_parquet('${plan.parquet}/*/*.parquet', hive_partitioning = true)`

  expect(await duck.all(`SELECT organization, count(*) AS rows FROM ${files} GROUP BY 1 ORDER BY 1`)).toEqual([
    { organization: 'acme', rows: '5' },
    { organization: 'globex', rows: '5' },
  ])
  expect(published).toMatchObject({
    parquet: { to: plan.parquet, organizations: [{ customers: 5 }, { customers: 5 }] },
    leftOut: [{ organization: 'soon', reason: 'never-read' }],
  })
  expect(JSON.parse(readFileSync(join(plan.parquet, '_manifest.json'), 'utf8'))).toMatchObject({
    written_at: published.parquet?.writtenAt,
    organizations: PARTS.map((object) => ({ object, rows: 5 })),
  })
})

test('what is published without personal data may be read by every user', async () => {
  const { plan, acme } = await aPublishedMirror({ withoutPersonalData: true })

  expect([plan.parquet, acme].map((path) => statSync(path).mode & 0o777)).toEqual([0o755, 0o444])
})

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

test('a publish that leaves personal data out, and is killed while files are replaced, leaves none behind after the next one', async () => {
  const { plan, failAt } = await aPublishedMirror()
  const withoutAny = { ...plan, withoutPersonalData: true }
  for (const organization of ['acme', 'globex']) await failAt(organization, withoutAny)
  await publishFolder(withoutAny)
  const duck = await aDuckDb()
  const columns = await duck.all(`SELECT DISTINCT name FROM parquet_schema('${plan.parquet}/*/*.parquet')`)

  expect(partsIn(plan.parquet)).toEqual(PARTS)
  expect(columns).toContainEqual({ name: 'language' })
  expect(columns).not.toContainEqual({ name: 'email' })
})

test('a file that a killed publish replaced is written anew, though it is as long, and the mirror as it was before; unfinished files are removed', async () => {
  const { plan, failAt, acme } = await aPublishedMirror()
  const duck = await aDuckDb()
  const read = async () => [statSync(acme).size, await duck.all(`FROM '${acme}' ORDER BY id`)]
  const before = await read()
  const later = await aMirror()
  for (const organization of ['acme', 'globex']) await night(later, 1, customers(1, 5), { organization })
  await failAt('globex', { mirror: later.file })
  const replaced = await read()
  writeFileSync(join(dirname(acme), '.part-0.parquet.0123456789abcdef.unfinished'), 'half')
  await publishFolder(plan)

  expect(replaced[0]).toBe(before[0])
  expect(replaced).not.toEqual(before)
  expect(await read()).toEqual(before)
  expect(readdirSync(dirname(acme))).toEqual(['part-0.parquet'])
})

test('a part that was changed, or is gone, is written anew, and one of a retired organization goes', async () => {
  const { mirror, plan, publishAgain, acme, globex } = await aPublishedMirror()
  appendFileSync(acme, 'x')
  rmSync(globex)

  expect(await publishAgain()).toEqual([true, true])
  expect(await publishAgain()).toEqual([false, false])
  await (await organizationsOf(mirror.file)).retire('globex', CLOCKS)
  expect(await publishAgain()).toEqual([false])
  expect(partsIn(plan.parquet)).toEqual(PARTS.slice(0, 1))
})

test.each<[what: string, code: string, disturb: (folder: string, mirror: string) => void]>([
  ['of a mirror that is damaged', 'damaged', (_, mirror) => void damaged(mirror)],
  ['on a disk that fails before files are replaced', 'full', () => failOnDisk('fsyncSync', () => true)],
  ['while another one writes', 'busy', (folder) => onTestFinished(lockPlace(join(folder, 'organization')).release)],
])('a publish %s leaves the set from before', async (_, code, disturb) => {
  const { mirror, plan, acme } = await aPublishedMirror()
  const before = readFileSync(acme)
  for (const organization of ['acme', 'globex']) await night(mirror, 1, customers(1, 7), { organization })
  await mirror.close()
  disturb(plan.parquet, mirror.file)

  await expect(publishFolder(plan)).rejects.toMatchObject({ code })
  expect(readFileSync(acme).equals(before)).toBe(true)
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
