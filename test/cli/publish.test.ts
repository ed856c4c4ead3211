import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { aDuckDb } from '../support/exported-files.ts'
import { rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { aMirroredWorkplace, document } from '../support/publish-command.ts'
import { runCli } from '../support/run-cli.ts'

describe('publish', () => {
  test('publishes to the file that is named, relative to where the command runs', async () => {
    const { folder } = await aMirroredWorkplace()
    const { code, stdout, stderr } = await runCli(['publish', 'copies/readers.db'], { cwd: folder })

    const file = join(folder, 'copies', 'readers.db')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(`Copy for readers: ${file} (2 organizations, 15 customers)\n`)
    expect(valueOf(file, 'SELECT count(*) FROM customers')).toBe(15)
    expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o440, 0o750])
  })

  test('publishes as configured, and prints what it did as JSON', async () => {
    const { folder, config } = await aMirroredWorkplace({ file: 'copies/x-{organization}.db', keep: 1 })
    const { code, stdout } = await runCli(['publish', '--json', '--config', config], { cwd: '/' })
    const { copies, leftOut, failed } = document.parse(JSON.parse(stdout))

    expect({ code, leftOut, failed }).toEqual({ code: 0, leftOut: [], failed: [] })
    expect(copies).toMatchObject([
      {
        file: join(folder, 'copies', 'x-acme.db'),
        organizations: [{ organization: 'acme', customers: 12, active: 12 }],
      },
      { file: join(folder, 'copies', 'x-globex.db'), organizations: [{ organization: 'globex', customers: 3 }] },
    ])
  })
})

describe('a publish to several places', () => {
  test('makes the copy, and a Parquet file for each organization, which the next one replaces', async () => {
    const { folder, mirror } = await aMirroredWorkplace({ file: 'copies/x.db', parquet: 'copies/parquet' })
    const parquet = join(folder, 'copies', 'parquet')
    const rows = `SELECT organization, count(*) AS rows, any_value(typeof(id)) AS type FROM read_parquet('${parquet}/*/*.parquet',
      hive_partitioning = true) GROUP BY organization ORDER BY 1`
    const { code, stdout, stderr } = await runCli(['publish'], { cwd: folder })

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`Parquet for readers: ${parquet} (2 organizations, 15 customers; 2 objects written)\n`)
    expect(valueOf(join(folder, 'copies', 'x.db'), 'SELECT count(*) FROM customers')).toBe(15)
    expect(await (await aDuckDb()).all(rows)).toMatchObject([
      { organization: 'acme', rows: '12', type: 'VARCHAR' },
      { organization: 'globex', rows: '3' },
    ])
    const part = join(parquet, 'organization=acme', 'part-0.parquet')
    expect([statSync(part).mode & 0o777, statSync(dirname(part)).mode & 0o777]).toEqual([0o440, 0o750])

    tamper(mirror, `DELETE FROM customers WHERE id = (SELECT min(id) FROM customers WHERE organization = 'acme')`)
    expect(await runCli(['publish'], { cwd: folder })).toMatchObject({ code: 0 })
    expect(await (await aDuckDb()).all(rows)).toMatchObject([{ rows: '11' }, { rows: '3' }])
    expect(readdirSync(parquet).toSorted()).toEqual(['_manifest.json', 'organization=acme', 'organization=globex'])
  })

  test('keeps no place from being published because of another one', async () => {
    const { folder } = await aMirroredWorkplace({ file: 'copies/x.db', parquet: 'copies/parquet' })
    mkdirSync(join(folder, 'copies', 'x.db'), { recursive: true })
    const { code, stdout, stderr } = await runCli(['publish'], { cwd: folder })

    expect(code).not.toBe(0)
    expect(stderr).toContain('x.db: is a folder')
    expect(stdout).toContain('Parquet for readers: ')
  })

  test('into folders that are those of the mirror, or that others may write, is refused by check too', async () => {
    const { folder } = await aMirroredWorkplace({ parquet: 'data' })

    expect(await runCli(['publish'], { cwd: folder })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is the folder of the mirror'),
    })
    expect((await runCli(['check'], { cwd: folder })).stdout).toContain('is the folder of the mirror')
  })
})

describe('sync with a copy in the configuration', () => {
  test('publishes once after all organizations, and says so', async () => {
    const { folder } = await aMirroredWorkplace({ file: './copies/x.db', keep: 5 })
    const { code, stdout } = await runCli(['sync'], { cwd: folder })

    expect(code).toBe(0)
    expect(stdout).toContain(`Copy for readers: ${join(folder, 'copies', 'x.db')} (2 organizations, 15 customers)\n`)
    expect(readdirSync(join(folder, 'copies')).toSorted()).toEqual(['metadata.json', 'x.db', 'x.db.sha256'])
    expect(rowsOf(join(folder, 'copies', 'x.db'), 'SELECT last_status FROM manifest')).toEqual([
      { last_status: 'complete' },
      { last_status: 'complete' },
    ])
  })

  test('a copy that cannot be made is said, and ends a sync of complete runs with its own code', async () => {
    const { folder } = await aMirroredWorkplace({ file: './copies/x.db', group: 'no-such-group' })
    const { code, stdout, stderr } = await runCli(['sync', '--json'], { cwd: folder })

    expect(code).toBe(2)
    expect(stderr).toContain('✖ The copy for readers was not finished. publish.group: there is no group no-such-group')
    expect(JSON.parse(stdout)).toMatchObject({
      runs: [{ status: 'complete' }, { status: 'complete' }],
      published: { copies: [], failed: [{ code: 'usage' }] },
    })
  })

  test('a dry run publishes nothing', async () => {
    const { folder } = await aMirroredWorkplace({ file: './copies/x.db' })

    expect(await runCli(['sync', '--dry-run'], { cwd: folder })).toMatchObject({ code: 0 })
    expect(existsSync(join(folder, 'copies'))).toBe(false)
  })
})
