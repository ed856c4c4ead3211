import { beforeEach, expect, test } from 'vitest'
import { queryCommand } from '../../src/cli/query.ts'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { customerId, customers, aCustomer } from '../support/builders.ts'
import { aMirror, mirrorPages, aPlayedMirror, tamper } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { runCommand, runOnScreen } from '../support/run-command.ts'
import { aWorkplace } from '../support/workplace.ts'
import type { Mirror } from '../../src/store/mirror.ts'

let mirror: string

beforeEach(async () => {
  mirror = await aMirrorToQuery()
})

const query = (...args: string[]) => runCommand(queryCommand, ['--mirror', mirror, ...args])

/** The number of a customer. */
const numberOf = ({ id }: { id: string }) => Number.parseInt(id.slice(0, 8), 16)

test('lists the active customers of every organization, and no line is wider than a terminal', async () => {
  const { code, stdout, stderr } = await query()

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^organization +id +name +username +email +language\n/)
  expect(stdout).toMatch(/^acme +00000001-0000-4000-8000-000000000001 +Ada Example +ada +customer-1@example\.com +en$/m)
  expect(stdout).toMatch(/^globex .* Other Tenant /m)
  expect(stdout).not.toContain('Gone Away')
  const { text, broken } = await runOnScreen(queryCommand, ['--mirror', mirror], { columns: 40 })
  expect({ text, broken }).toEqual({ text: expect.stringContaining('ÅSA ÉXAMPLE'), broken: [] })
})

test('finds customers by organization and language, removed ones if asked for', async () => {
  const { stdout } = await query('--org', 'acme', '--language', 'en', '--include-removed')
  const [, ...lines] = stdout.trimEnd().split('\n')

  expect(lines).toEqual([
    expect.stringMatching(/^acme +00000001-.* Ada Example .* –$/),
    expect.stringMatching(/^acme +00000004-.* Under Score .* –$/),
    expect.stringMatching(/^acme +00000005-.* Gone Away .* 2026-01-06 02:00:00\.000$/),
  ])
})

test('--json has every public column of a customer, and every customer; a search takes a part in any case', async () => {
  const columns = PUBLIC_TABLES.find(({ name }) => name === 'active_customers')?.columns.map(({ name }) => name)
  const { customers: all } = JSON.parse((await query('--json')).stdout)
  const { customers: found } = JSON.parse((await query('--json', '--search', ' ER_S ')).stdout)

  expect(Object.keys(all[0])).toEqual(columns)
  expect(all[0]).toMatchObject({ organization: 'acme', id: customerId(1), name: 'Ada Example', removed_at: null })
  expect(all.map(numberOf)).toEqual([1, 2, 3, 4, 6])
  expect(found.map(numberOf)).toEqual([4])
})

test('an organization that is configured and not mirrored yet has no customers; an unknown one gets a suggestion', async () => {
  const organization = { id: 'soon', baseUrl: 'https://soon.example.com', apiKey: { env: 'A' }, secret: { env: 'B' } }
  const { config } = aWorkplace([organization], { mirror })
  const ask = (org: string) => runCommand(queryCommand, ['--config', config, '--org', org])

  expect(await ask('soon')).toEqual({ code: 0, stdout: 'No customers found.\n', stderr: '' })
  expect(await ask('acme')).toMatchObject({ code: 0, stderr: '' })
  expect((await ask('son')).stderr).toContain('(did you mean "soon"?): known are soon, acme, globex\n')
  expect(await query('--org', 'globx')).toEqual({
    ...{ code: 2, stdout: '' },
    stderr: 'unknown organization "globx" (did you mean "globex"?): known are acme, globex\n',
  })
})

test('a table ends after fifty customers and says so; a document has all', async () => {
  const open = await aMirror()
  await mirrorPages(open, [customers(1, 60)])
  const all = (...args: string[]) => runCommand(queryCommand, ['--mirror', open.file, ...args])

  const table = await all()
  expect(table.stdout.trimEnd().split('\n')).toHaveLength(51)
  expect(table.stderr).toMatch(/^These are the first 50\..*--limit/)
  expect(JSON.parse((await all('--json')).stdout).customers).toHaveLength(60)
  expect(await all('--limit', '60')).toMatchObject({ stderr: '' })
})

test('a copy without personal data can be read, and says why it cannot be searched', async () => {
  const plan = aPlan(mirror, { withoutPersonalData: true })
  publishAll(plan)
  const ask = (...args: string[]) => runCommand(queryCommand, ['--mirror', plan.file, ...args])

  expect((await ask()).stdout).toMatch(/^organization +id +language\nacme +[\w-]{36} +en\n/)
  expect(await ask('--search', 'ada')).toMatchObject({
    code: 2,
    stderr: 'This copy has no column name, username, email: it was published without personal data.\n',
  })
})

/** acme: Ada, Åsa, 100% Sure, under_score and one who is removed. globex: one customer. */
async function aMirrorToQuery(): Promise<string> {
  return (await aPlayedMirror(nightsToQuery)).file
}

async function nightsToQuery(open: Mirror): Promise<void> {
  const acme = [
    aCustomer(1, { name: 'Ada Example', username: 'ada', language: 'en' }),
    aCustomer(2, { name: 'ÅSA ÉXAMPLE', username: 'asa', language: 'sv', email: 'Asa@Example.SE' }),
    aCustomer(3, { name: '100% Sure', username: 'sure', language: 'EN' }),
    aCustomer(4, { name: 'Under Score', username: 'under_score', email: null }),
    aCustomer(5, { name: 'Gone Away', username: 'gone' }),
  ]
  await mirrorPages(open, [acme])
  await mirrorPages(open, [[aCustomer(6, { name: 'Other Tenant', username: 'other' })]], { organization: 'globex' })
  tamper(open.file, `UPDATE customers SET removed_at = '2026-01-06 02:00:00.000' WHERE id = ?`, customerId(5))
}
