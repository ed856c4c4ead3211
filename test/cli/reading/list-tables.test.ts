import { expect, test } from 'vitest'
import { sqlCommand } from '../../../src/cli/sql.ts'
import { PUBLIC_TABLES } from '../../../src/model/public-tables.ts'
import { customers } from '../../support/builders.ts'
import { aMirror, mirrorPages } from '../../support/mirror-file.ts'
import { aPlan, publishAll } from '../../support/publishing.ts'
import { runCli } from '../../support/run-cli.ts'
import { runCommand } from '../../support/run-command.ts'
import { runOnScreen } from '../../support/screen.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test('--tables lists the public tables and columns, and needs no mirror', async () => {
  const cwd = temporaryFolder()
  const { code, stdout } = await runCli(['sql', '--tables'], { cwd })
  const rows = (await runCli(['sql', '--tables', '--jsonl'], { cwd })).stdout.trimEnd().split('\n')

  expect(code).toBe(0)
  expect(rows).toHaveLength(PUBLIC_TABLES.flatMap(({ columns }) => columns).length)
  for (const { name, columns } of PUBLIC_TABLES) {
    expect(stdout).toMatch(new RegExp(`^${name}: `, 'm'))
    for (const column of columns) expect(stdout).toMatch(new RegExp(`^  ${column.name} +${column.type} +\\S`, 'm'))
  }
  expect(stdout).not.toMatch(/lease|window/)
  expect(JSON.parse((await runCli(['sql', '--tables', '--json'], { cwd })).stdout).tables).toHaveLength(
    PUBLIC_TABLES.length,
  )
  const { broken } = await runOnScreen(sqlCommand, ['--tables'])
  expect(broken).toEqual([])
})

test('--tables of a copy lists what is in it, and of a file that is not there ends with 7', async () => {
  const mirror = await aMirror()
  const { file } = mirror
  await mirrorPages(mirror, [customers(1, 2)])
  const plan = aPlan(file, { withoutPersonalData: true })
  publishAll(plan)
  const columnsOf = async (name: string) => {
    const { stdout } = await runCommand(sqlCommand, ['--tables', '--csv', '--mirror', name])
    return stdout.split('\r\n').map((line) => line.split(',').slice(0, 2).join('.'))
  }
  const [all, copied] = [await columnsOf(file), await columnsOf(plan.file)]

  expect(all).toEqual(expect.arrayContaining(['customers.name', 'rejects.payload', 'customers.language']))
  expect(copied).toEqual(expect.arrayContaining(['customers.language', 'manifest.sha256']))
  expect(all.filter((column) => column.startsWith('manifest.'))).toEqual([])
  expect(copied.filter((column) => /\.(name|payload)$/.test(column))).toEqual([])
  expect(await runCommand(sqlCommand, ['--tables', '--mirror', `${file}x`])).toMatchObject({ code: 7, stdout: '' })
})
