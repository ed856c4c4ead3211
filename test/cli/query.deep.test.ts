import { beforeEach, describe, expect, test } from 'vitest'
import { queryCommand } from '../../src/cli/query.ts'
import { aCustomer, customers } from '../support/builders.ts'
import { aMirrorToQuery } from '../support/full-mirror.ts'
import { aMirror, mirrorPages } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/screen.ts'
import { aWorkplace } from '../support/workplace.ts'

let mirror: string

beforeEach(async () => {
  mirror = await aMirrorToQuery()
})

const query = (...args: string[]) => runCommand(queryCommand, ['--mirror', mirror, ...args])

test('an unknown organization ends with 2, with a suggestion', async () => {
  expect(await query('--org', 'globx')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'unknown organization "globx" (did you mean "globex"?): the mirror has acme, globex\n',
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

describe('on a terminal', () => {
  test('no value of a customer acts on it', async () => {
    const open = await aMirror()
    const name = 'Red \u001B[31m\u009B2J\u0007 back\r\nnew line \u202Eesrever \u{E0041}'
    await mirrorPages(open, [[aCustomer(1, { name, email: null, username: null })]])
    const { text } = await runOnScreen(queryCommand, ['--mirror', open.file], { columns: 2000 })

    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e\u{e0041}]/u)
    expect(text).toContain(String.raw`Red \u001b[31m\u009b2J\u0007 back\r\nnew line \u202eesrever \udb40\udc41`)
  })
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
