import { beforeEach, describe, expect, inject, test } from 'vitest'
import { queryCommand } from '../../src/cli/query.ts'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { customerId } from '../support/builders.ts'
import { aMirrorToQuery } from '../support/full-mirror.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/screen.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

let mirror: string

beforeEach(async () => {
  mirror = await aMirrorToQuery()
})

const query = (...args: string[]) => runCommand(queryCommand, ['--mirror', mirror, ...args])

/** The number of a customer. */
const numberOf = ({ id }: { id: string }) => Number.parseInt(id.slice(0, 8), 16)

test('lists the active customers of every organization', async () => {
  const { code, stdout, stderr } = await query()

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^organization +name +username +email +language\n/)
  expect(stdout).toMatch(/^acme +Ada Example +ada +customer-1@example\.com +en$/m)
  expect(stdout).toMatch(/^globex +Other Tenant /m)
  expect(stdout).not.toContain('Gone Away')
})

test('finds customers by organization and language, removed ones if asked for', async () => {
  const { stdout } = await query('--org', 'acme', '--language', 'en', '--include-removed')
  const [, ...lines] = stdout.trimEnd().split('\n')

  expect(lines).toEqual([
    expect.stringMatching(/^acme +Ada Example .* –$/),
    expect.stringMatching(/^acme +Under Score .* –$/),
    expect.stringMatching(/^acme +Gone Away .* 2026-01-06 02:00:00\.000$/),
  ])
})

test('searches for a part of the name, the username or the e-mail address, as it is written and in any case', async () => {
  const { code, stdout, stderr } = await query('--json', '--search', ' ER_S ')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout).customers.map(numberOf)).toEqual([4])
})

test('--json has every public column of a customer, and every customer', async () => {
  const columns = PUBLIC_TABLES.find(({ name }) => name === 'active_customers')?.columns.map(({ name }) => name)
  const { customers } = JSON.parse((await query('--json')).stdout)

  expect(Object.keys(customers[0])).toEqual(columns)
  expect(customers[0]).toMatchObject({ organization: 'acme', id: customerId(1), name: 'Ada Example', removed_at: null })
  expect(customers.map(numberOf)).toEqual([1, 2, 3, 4, 6])
})

describe('on a terminal', () => {
  test.each(inject('isDeep') ? [80, 40] : [40])('no line is wider than its %i columns', async (columns) => {
    const { code, text, broken } = await runOnScreen(queryCommand, ['--mirror', mirror], { columns })

    expect(code).toBe(0)
    expect(text).toContain('ÅSA ÉXAMPLE')
    expect(broken).toEqual([])
  })
})

test.each([
  ['a form of files', ['--csv'], /unknown option '--csv'/],
  ['a limit that is no number', ['--limit', 'many'], /whole number, at least 1/],
  ['a configuration beside a file', ['--mirror', 'x.db', '--config', 'y.yaml'], /Use one of them/],
  ['a file without a name', ['--mirror', ''], /--mirror is empty/],
  ['words', ['ada'], /too many arguments/],
])('%s ends with 2', async (_, args, said) => {
  const ended = await runCli(['query', ...args], { cwd: temporaryFolder() })

  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toMatch(said)
})
