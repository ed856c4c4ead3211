import { beforeEach, describe, expect, test } from 'vitest'
import { queryCommand } from '../../src/cli/query.ts'
import { PUBLIC_TABLES } from '../../src/public-tables.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { aMirror, mirrorPages, tamper } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/run-on-screen.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aWorkplace } from '../support/workplace.ts'

let mirror: string

/** acme: Ada, Åsa, 100% Sure, under_score and one who is removed. globex: one customer. */
beforeEach(async () => {
  const open = await aMirror()
  mirror = open.file
  const acme = [
    aCustomer(1, { name: 'Ada Example', username: 'ada', language: 'en' }),
    aCustomer(2, { name: 'ÅSA ÉXAMPLE', username: 'asa', language: 'sv', email: 'Asa@Example.SE' }),
    aCustomer(3, { name: '100% Sure', username: 'sure', language: 'EN' }),
    aCustomer(4, { name: 'Under Score', username: 'under_score', email: null }),
    aCustomer(5, { name: 'Gone Away', username: 'gone' }),
  ]
  await mirrorPages(open, [acme])
  await mirrorPages(open, [[aCustomer(6, { name: 'Other Tenant', username: 'other' })]], { organization: 'globex' })
  tamper(mirror, `UPDATE customers SET removed_at = '2026-01-06 02:00:00.000' WHERE id = ?`, customerId(5))
})

const query = (...args: string[]) => runCommand(queryCommand, ['--mirror', mirror, ...args])

/** The numbers of the customers that a query finds, in order. */
async function found(...args: string[]): Promise<number[]> {
  const { code, stdout, stderr } = await query('--jsonl', ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Number.parseInt(JSON.parse(line).id.slice(0, 8), 16))
}

test('lists the active customers of every organization', async () => {
  const { code, stdout, stderr } = await query()

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^organization +name +username +email +language\n/)
  expect(stdout).toMatch(/^acme +Ada Example +ada +customer-1@example\.com +en$/m)
  expect(stdout).toMatch(/^globex +Other Tenant /m)
  expect(stdout).not.toContain('Gone Away')
  expect(await found()).toEqual([1, 2, 3, 4, 6])
})

test('finds customers by organization and language, removed ones if asked for', async () => {
  expect(await found('--org', 'acme', '--language', 'en', '--include-removed')).toEqual([1, 4, 5])
  expect((await query('--include-removed')).stdout).toMatch(/Gone Away .* 2026-01-06 02:00:00\.000$/m)
})

test('searches for a part of the name, the username or the e-mail address, as it is written and in any case', async () => {
  expect(await found('--search', ' ER_S ')).toEqual([4])
})

test('an unknown organization ends with 2, with a suggestion', async () => {
  expect(await query('--org', 'globx')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'unknown organization "globx" (did you mean "globex"?): the file has acme, globex\n',
  })
})

test('an organization that is configured and not mirrored yet has no customers', async () => {
  const organization = { id: 'soon', baseUrl: 'https://soon.example.com', apiKey: { env: 'A' }, secret: { env: 'B' } }
  const { config } = aWorkplace([organization], { mirror })
  const ask = (org: string) => runCommand(queryCommand, ['--config', config, '--org', org])

  expect(await ask('soon')).toEqual({ code: 0, stdout: 'No customers found.\n', stderr: '' })
  expect(await ask('acme')).toMatchObject({ code: 0, stderr: '' })
  expect((await ask('son')).stderr).toContain(
    '(did you mean "soon"?): the configuration has soon; the mirror also has acme, globex\n',
  )
})

test.each([
  ['--json', (text: string) => JSON.parse(text).customers],
  [
    '--jsonl',
    (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
  ],
])('%s has every public column of a customer, and every customer', async (format, parse) => {
  const columns = PUBLIC_TABLES.find(({ name }) => name === 'active_customers')?.columns.map(({ name }) => name)
  const [first, ...others] = parse((await query(format)).stdout)

  expect(Object.keys(first)).toEqual(columns)
  expect(first).toMatchObject({ organization: 'acme', id: customerId(1), name: 'Ada Example', removed_at: null })
  expect(others).toHaveLength(4)
})

test('--csv has a head, every public column, and lines that end as RFC 4180 says', async () => {
  const [head = '', first = '', ...others] = (await query('--csv')).stdout.split('\r\n')

  expect(head).toMatch(/^organization,id,name,username,/)
  expect(first).toContain(
    `acme,${customerId(1)},Ada Example,ada,customer-1@example.com,+1 555 0100 1,"1 Example Street, `,
  )
  expect(others).toHaveLength(5)
  expect(others.at(-1)).toBe('')
})

test('a table ends after fifty customers and says so; the other formats have all', async () => {
  const open = await aMirror()
  await mirrorPages(open, [customers(1, 60)])
  const all = (...args: string[]) => runCommand(queryCommand, ['--mirror', open.file, ...args])

  const table = await all()
  expect(table.stdout.trimEnd().split('\n')).toHaveLength(51)
  expect(table.stderr).toMatch(/^These are the first 50\..*--limit/)
  expect((await all('--csv')).stdout.trimEnd().split('\n')).toHaveLength(61)
  expect(await all('--limit', '60')).toMatchObject({ stderr: '' })
})

describe('on a terminal', () => {
  test.each([80, 40])('no line is wider than its %i columns', async (columns) => {
    const { code, text, broken } = await runOnScreen(queryCommand, ['--mirror', mirror], { columns })

    expect(code).toBe(0)
    expect(text).toContain('ÅSA ÉXAMPLE')
    expect(broken).toEqual([])
  })

  test.each(['', '--csv'])('no value of a customer acts on it: %s', async (format) => {
    const open = await aMirror()
    const name = 'Red \u001B[31m\u009B2J\u0007 back\r\nnew line \u202Eesrever \u{E0041}'
    await mirrorPages(open, [[aCustomer(1, { name, email: null, username: null })]])
    const args = ['--mirror', open.file, ...(format === '' ? [] : [format])]
    const { text } = await runOnScreen(queryCommand, args, { columns: 2000 })

    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e\u{e0041}]/u)
    expect(text).toContain(String.raw`Red \u001b[31m\u009b2J\u0007 back\r\nnew line \u202eesrever \udb40\udc41`)
  })
})

test('into a file or pipe, CSV and JSON have the values as they are', async () => {
  const open = await aMirror()
  const name = '=1+1 "q", \u001B[31m\r\nline \u009B \u202E'
  await mirrorPages(open, [[aCustomer(1, { name })]])
  const ask = async (format: string) => (await runCommand(queryCommand, ['--mirror', open.file, format])).stdout

  expect(await ask('--csv')).toContain(',"=1+1 ""q"", \u001B[31m\r\nline \u009B \u202E",')
  expect(JSON.parse(await ask('--json')).customers).toMatchObject([{ name }])
  expect(JSON.parse(await ask('--jsonl'))).toMatchObject({ name })
})

test('a copy without personal data can be read, and says why it cannot be searched', async () => {
  const plan = aPlan(mirror, { withoutPersonalData: true })
  publishAll(plan)
  const ask = (...args: string[]) => runCommand(queryCommand, ['--mirror', plan.file, ...args])

  expect((await ask()).stdout).toMatch(/^organization +language\nacme +en\n/)
  expect(await ask('--search', 'ada')).toMatchObject({
    code: 2,
    stderr: 'This copy has no column name, username, email: it was published without personal data.\n',
  })
})

test('without a mirror it ends with 7, as other commands that read', async () => {
  const { folder } = aWorkplace([
    { id: 'acme', baseUrl: 'https://acme.example.com', apiKey: { env: 'A' }, secret: { env: 'B' } },
  ])
  const ended = await runCli(['query'], { cwd: folder })

  expect(ended).toMatchObject({ code: 7, stdout: '' })
  expect(ended.stderr).toMatch(/customers\.db: there is no mirror yet\. Run 'customer-mirror sync' to make it/)
})

test.each([
  ['two formats', ['--json', '--csv'], /cannot be used with option/],
  ['a limit that is no number', ['--limit', 'many'], /whole number, at least 1/],
  ['a configuration beside a file', ['--mirror', 'x.db', '--config', 'y.yaml'], /Use one of them/],
  ['a file without a name', ['--mirror', ''], /--mirror is empty/],
  ['words', ['ada'], /too many arguments/],
])('%s ends with 2', async (_, args, said) => {
  const ended = await runCli(['query', ...args], { cwd: temporaryFolder() })

  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toMatch(said)
})
