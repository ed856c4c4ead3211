import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { lookAtFolder } from '../../../src/copies/objects/folder.ts'
import { lockPlace } from '../../../src/copies/written-file.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { aDuckDb, aMirrorAndFolder, anExportedMirror, PARTS, partsIn } from '../../support/exported-files.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test('the changes are partitioned too', async () => {
  const { mirror, folder, run } = await aMirrorAndFolder()
  await night(mirror, 1, customers(1, 4))
  expect((await run('--changes-since', '0', '--format', 'csv')).code).toBe(0)

  const csv = readFileSync(join(folder, 'organization=acme', 'part-0.csv'), 'utf8').split('\r\n')
  expect(csv[0]?.split(',').slice(0, 3)).toEqual(['seq', 'run_id', 'id'])
  expect(csv.filter((line) => /,(added|current),/.test(line))).toHaveLength(4)
})

describe('what this program did not write', () => {
  test.each([
    ['a file in the place of a partition', (file: string) => writeFileSync(file, 'of a user')],
    [
      'a file that was changed since',
      (file: string) => writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from('x')])),
    ],
  ])('is left as it is: %s', async (_, change) => {
    const { folder, run } = await anExportedMirror()
    const file = join(folder, PARTS[1] ?? '')
    change(file)
    const content = readFileSync(file, 'utf8')
    const { code, stderr } = await run()

    expect(code).toBe(2)
    expect(stderr).toContain('was not written by this program, or was changed since')
    expect(readFileSync(file, 'utf8')).toBe(content)
    expect(partsIn(folder)).toEqual(PARTS)
  })

  test('is left as it is: a link to another folder, and another manifest', async () => {
    const { folder, run } = await aMirrorAndFolder()
    const elsewhere = temporaryFolder()
    mkdirSync(folder)
    symlinkSync(elsewhere, join(folder, 'organization=acme'))
    expect(await run()).toMatchObject({ code: 2 })
    expect(readdirSync(elsewhere)).toEqual([])

    rmSync(join(folder, 'organization=acme'))
    writeFileSync(join(folder, '_manifest.json'), '{}')
    expect(await run()).toMatchObject({ code: 2 })
    expect(readFileSync(join(folder, '_manifest.json'), 'utf8')).toBe('{}')
  })
})

describe('an export that does not reach its end', () => {
  test('because it was killed while files were replaced: the next one knows them as ours', async () => {
    const { mirror, folder, run } = await anExportedMirror()
    const old = readFileSync(join(folder, PARTS[1] ?? ''))
    const oldManifest: { organizations: unknown[] } = JSON.parse(readFileSync(join(folder, '_manifest.json'), 'utf8'))
    await night(mirror, 1, customers(1, 4))
    await run()
    const manifest: object = JSON.parse(readFileSync(join(folder, '_manifest.json'), 'utf8'))
    // As it is in the midst of that: the manifest names both sets, and one file is still the old one.
    writeFileSync(join(folder, '_manifest.json'), JSON.stringify({ ...manifest, replaced: oldManifest.organizations }))
    writeFileSync(join(folder, PARTS[1] ?? ''), old)

    expect(await run()).toMatchObject({ code: 0 })
    const rows = rowsOf(mirror.file, 'SELECT 1 FROM active_customers').length
    expect(await (await aDuckDb()).all(`SELECT count(*) AS rows FROM '${folder}/*/*.parquet'`)).toEqual([
      { rows: String(rows) },
    ])
  })

  test('because another one is under way: nothing is changed', async () => {
    const { folder, run } = await anExportedMirror()
    const held = lockPlace(join(folder, 'organization'))
    try {
      const { code, stderr } = await run()
      expect(code).toBe(5)
      expect(stderr).toContain('another process writes it at the moment')
      expect(() => lookAtFolder(folder, { extension: 'parquet' })).toThrow('at the moment')
    } finally {
      held.release()
    }
    expect((await run()).code).toBe(0)
  })

  test('because it was killed: the next one removes its remains', async () => {
    const { folder, run } = await anExportedMirror()
    const names = [
      'organization=acme/.part-0.parquet.0123456789abcdef.unfinished',
      'organization=new/.part-0.csv.0123456789abcdef.unfinished',
    ]
    mkdirSync(join(folder, 'organization=new'))
    for (const name of names) writeFileSync(join(folder, name), 'half')
    expect((await run()).code).toBe(0)

    expect(partsIn(folder)).toEqual(PARTS)
    expect(existsSync(join(folder, 'organization=new'))).toBe(false)
  })
})
