import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { partitionFolder, type WrittenObject } from '../../../src/copies/objects/object-place.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { blocksIn, PAGES } from '../../support/documents.ts'
import {
  aDuckDb,
  aMirrorAndFolder,
  anExportedMirror,
  exportHere,
  PARTS,
  partsIn,
} from '../../support/exported-files.ts'
import { lookAtFolder } from '../../../src/copies/objects/folder.ts'
import { failOnDisk } from '../../support/failing-disk.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test('DuckDB reads the partitions with one glob, each with the last seq, and the organization is a column', async () => {
  const { folder, run } = await aMirrorAndFolder()
  const { code, stderr } = await run()
  expect({ code, stderr }).toEqual({ code: 0, stderr: `Exported 8 customers to ${folder}\nLast seq: 0\n` })
  expect(partsIn(folder)).toEqual(PARTS)
  for (const name of PARTS) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)

  const duckdb = await aDuckDb()
  const glob = `${folder}/*/*.parquet`
  expect(
    await duckdb.all(`SELECT organization, count(*) AS customers, count(DISTINCT id) AS ids
      FROM read_parquet('${glob}', hive_partitioning = true) GROUP BY ALL ORDER BY ALL`),
  ).toEqual([
    { organization: 'acme', customers: '3', ids: '3' },
    { organization: 'eu.globex', customers: '5', ids: '5' },
  ])
  const blocks = PAGES.flatMap((page) => blocksIn(page, 'duckdb')).filter(({ text }) => text.includes('hive_types'))
  const [documented = ''] = blocks.map(({ text }) => text.replace('exports/', `${folder}/`))
  const rows = await duckdb.all(documented)
  expect(rows.map((row) => String(row['organization'])).toSorted()).toEqual([
    ...Array.from({ length: 3 }, () => 'acme'),
    ...Array.from({ length: 5 }, () => 'eu.globex'),
  ])
  expect(
    await duckdb.all(`SELECT count(*) AS parts, min(decode(value)) AS last_seq FROM parquet_kv_metadata('${glob}')
      WHERE decode(key) = 'last_seq'`),
  ).toEqual([{ parts: '2', last_seq: '0' }])
  expect(JSON.parse(readFileSync(join(folder, '_manifest.json'), 'utf8'))).toMatchObject({
    last_seq: 0,
    organizations: [
      { object: PARTS[1], organization: 'acme', rows: 3 },
      { object: PARTS[2], organization: 'eu.globex', rows: 5 },
    ],
  })
})

test('the next export replaces the files, and removes those of organizations that are gone', async () => {
  const { mirror, folder } = await anExportedMirror()
  await night(mirror, 1, customers(1, 4))
  writeFileSync(join(folder, 'organization=eu.globex', 'notes.txt'), 'of a user')
  await exportHere(mirror, folder, { organizations: ['acme'] })

  expect(partsIn(folder)).toEqual(['_manifest.json', PARTS[1], 'organization=eu.globex/notes.txt'])
  const [found] = await (await aDuckDb()).all(`SELECT count(*) AS rows FROM '${folder}/*/*.parquet'`)
  expect(found).toEqual({ rows: '4' })

  await exportHere(mirror, folder)
  rmSync(join(folder, 'organization=eu.globex', 'notes.txt'))
  await exportHere(mirror, folder, { organizations: ['acme'], format: 'jsonl' })
  expect(partsIn(folder)).toEqual(['_manifest.json', 'organization=acme/part-0.jsonl'])
  expect(existsSync(join(folder, 'organization=eu.globex'))).toBe(false)
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

/** Exports this text as the partition of each organization. */
async function exportInto(folder: string, text: string, names = ['acme', 'globex']): Promise<void> {
  const place = lookAtFolder(folder, { extension: 'csv' })
  try {
    const organizations: WrittenObject[] = []
    for (const organization of names) {
      const object = place.begin(organization)
      object.write(text)
      const put = await object.put().finally(() => object.close())
      if (put !== undefined) organizations.push({ organization, rows: 1, ...put })
    }
    await place.finish({ text, organizations, replaced: [] }, true)
  } finally {
    place.close()
  }
}

const manifestIn = (folder: string) => JSON.parse(readFileSync(join(folder, '_manifest.json'), 'utf8'))

test('a disk that fails between two partitions leaves those of two exports, and both are said to be there', async () => {
  const folder = temporaryFolder()
  await exportInto(folder, 'one')
  failOnDisk('renameSync', (_from, to) => String(to).includes('globex'))

  await expect(exportInto(folder, 'two')).rejects.toThrow(
    expect.objectContaining({
      code: 'full',
      message: expect.stringMatching(/but not all of it: each partition is of this export or of the one from before/),
    }),
  )
  expect(manifestIn(folder)).toMatchObject({
    text: 'two',
    replaced: [{ sha256: expect.any(String) }, { sha256: expect.any(String) }],
  })
})

test('an export that does not reach its end leaves the set from before, and nothing of its own', async () => {
  const folder = temporaryFolder()
  await exportInto(folder, 'one')
  const before = partsIn(folder)
  failOnDisk('fsyncSync', () => true)
  await expect(exportInto(folder, 'two', ['acme', 'initech'])).rejects.toThrow('EIO')

  expect(partsIn(folder)).toEqual(before)
  expect(readFileSync(join(folder, 'organization=acme', 'part-0.csv'), 'utf8')).toBe('one')
})
