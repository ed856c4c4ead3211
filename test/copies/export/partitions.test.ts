import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exportCommand } from '../../../src/cli/export.ts'
import { partitionFolder } from '../../../src/copies/objects/object-place.ts'
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
import { runCommand } from '../../support/run-command.ts'

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
  ['--to with -o', ['-o', 'x']],
  ['an unknown field', ['--partition', 'language']],
])('%s ends before anything is written', async (_, more) => {
  const { folder, run } = await aMirrorAndFolder()
  expect((await run(...more)).code).not.toBe(0)
  expect(existsSync(folder)).toBe(false)
})

test.each([
  ['--to alone', ['--to', 'x'], /By what/],
  ['--partition alone', ['--partition', 'organization'], /goes with a folder/],
])('%s is a usage error', async (_, options, message) => {
  const { mirror } = await aMirrorAndFolder()
  const { code, stderr } = await runCommand(exportCommand, ['--mirror', mirror.file, ...options])
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
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
