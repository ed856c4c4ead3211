import { chmodSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { VERSION } from '../../src/store/schema/schema.ts'
import { type FaultServer, list } from '../support/fault-server.ts'
import { dump, aMirrorOfFive, tamper, temporaryFolder } from '../support/mirror-file.ts'
import { failing } from '../support/run-cli.ts'
import { aFaultServer, aWorkplace, organizationAt, type Workplace } from '../support/workplace.ts'

/* Mistakes on the command line: each ends with 2 before anything is asked, written or made, and says what to do. */

let server: FaultServer
let here: Workplace

/** Acme and globex are configured; the mirror has five customers of acme. */
beforeEach(async () => {
  server = await aFaultServer(list(1))
  here = aWorkplace(['acme', 'globex'].map((id) => organizationAt(server, { id, apiKey: `key-of-${id}` })))
  await aMirrorOfFive(here.mirror)
})

const UNKNOWN_CUSTOMER = '00000000-0000-4000-8000-000000000009'
/** No folder is made of it, and no password in it is repeated. */
const ADDRESS = /an address|postgres:\/\/ address/
const SOLVE = 'signing solve --url https://acme.example.com/api/v1/customers --timestamp 1 --signature aa'

test.each<[line: string, said: RegExp | string]>([
  ['sync acme globx', 'unknown organization "globx" (did you mean "globex"?): known are acme, globex\n'],
  ['sync --config none.yaml', 'none.yaml does not exist'],
  ['conformance acne', /^unknown organization "acne"/],
  ['run acmee', /did you mean "acme"/],
  ['pause acmee', 'unknown organization "acmee" (did you mean "acme"?)'],
  ['pause acme --until 2020-01-01', /--until 2020-01-01 00:00 UTC has passed, so nothing was/],
  ['status --proven', /^--proven changes what --max-age checks\. Use both: status --max-age 26h --proven\n$/],
  ['status --max-age=26', 'It must be a time with its unit, such as 90m, 26h or 2d; '],
  ['status --html x.html --json', /option '--html <file>' cannot be used with option '--json'/],
  ['status --output x.prom', /--output goes with --format prometheus/],
  ['status --format json', /Allowed choices are prometheus/],
  ['diff acne', 'did you mean "acme"?'],
  ['diff acme --since 9', 'no run 9'],
  ['runs globx', 'did you mean "globex"?'],
  ['runs --limit=0', 'It must be a whole number, at least 1.'],
  ['runs show 7', "There is no run 7. 'customer-mirror runs' lists them."],
  ['removals approve 1 --yes', 'Run 1 holds no removals.'],
  ['removals approve many --yes', 'unknown organization "many"'],
  [`forget acme ${UNKNOWN_CUSTOMER}`, /no customer with this id.*'customer-mirror query --org acme .*' lists/],
  [`forget acne ${UNKNOWN_CUSTOMER}`, /acne/],
  ['forget acme 00000000-0000-4000-8000', 'It must be the id of a customer'],
  ['query --mirror x.db --config y.yaml', /Use one of them/],
  ['query --mirror=', /--mirror is empty/],
  ['sql', /^Which statement\?/],
  ['sql --tables SELECT', /--tables takes no statement/],
  ['export -o customers.txt', /^Which format\? For example: customer-mirror export -o customers\.csv, or --format csv/],
  ['export --format xml', /It must be one of csv, jsonl, parquet/],
  ['export --format jsonl --excel', /^--excel is for --format csv\. Use both, or leave --excel out\.\n$/],
  ['export --format csv --org acm', /^unknown organization "acm" \(did you mean "acme"\?\)/],
  ['export --format csv --changes-since 3', /^There is no change 3 yet: the last one is 0\./],
  ['export --format csv --output=', /The name of the file is empty/],
  ['publish s3:/analytics/x', /s3:\/analytics\/x: must be an address such as s3:\/\/bucket\/prefix/],
  ['publish', /^Nothing says where the copy goes. Name a file in a folder of its own/],
  ['sql --mirror postgres://ann:hunter2@db/crm SELECT', /^--mirror holds a password/],
  ['move --to postgres://ann:hunter2@db/crm', /--to holds a password.*PGPASSWORD/],
  ['move --to postgres://db', /--to must name one database/],
  ['move --to ./other.db', /Both mirrors are files, .*customer-mirror backup/],
  ['move --to=', /--to is empty/],
  ['backup s3://analytics/customers.db', ADDRESS],
  ['restore https://ann:hunter2@example.com/customers.db', ADDRESS],
  ['publish gs://analytics/customers.db', ADDRESS],
  ['export --format csv -o s3://analytics/customers.csv', ADDRESS],
  ['move --to postgres//ann:hunter2@db.test/crm', ADDRESS],
  ['sql --mirror postgres:/ann:hunter2@db.test/crm SELECT', ADDRESS],
  ['sandbox --customers many', 'It must be a whole number from 0 to 1000000.'],
  [SOLVE, /required option '--secret-env <name>' not specified/],
  [`${SOLVE} --secret-env NOT_SET`, /^--secret-env: there is no .* Export it first/],
  [`${SOLVE} --secret-env PATH --api-key-env NOT_SET`, /^--api-key-env: there is no /],
  [`${SOLVE.replace(' 1 ', ' soon ')} --secret-env PATH`, /The timestamp must be .*Unix seconds, Unix milliseconds/s],
  [`${SOLVE.replace(/https\S+/, 'x')} --secret-env PATH`, /--url must be a whole address/],
])('%s', async (line, said) => {
  const before = dump(here.mirror)
  const refused = await here.run(line)

  expect(refused).toMatchObject(failing(2, said))
  expect(refused.stderr).not.toMatch(/hunter2|NOT_SET|^\s+at |Unexpected/m)
  expect(server.requests).toEqual([])
  expect(readdirSync(here.folder).toSorted()).toEqual(['customer-mirror.yaml', 'data'])
  expect(dump(here.mirror)).toEqual(before)
})

test('without a configuration, commands that read name the option for a mirror or a copy too', async () => {
  const said = ' to write one, or name another with --config, or a mirror or a copy of one with --mirror\n'
  for (const line of ['query', 'sql SELECT', 'export --format csv', 'organizations list'])
    expect(await here.run(line, { cwd: temporaryFolder() }), line).toMatchObject(failing(2, said))
})

const READING_A_CONFIGURATION = [
  ...['check', 'conformance acme', 'sync', 'status', 'runs', 'runs show 1', 'rejects', 'report', 'diff acme'],
  ...[`forget acme ${UNKNOWN_CUSTOMER}`, 'removals list', 'removals show acme', 'removals approve acme', 'accept acme'],
  ...['organizations list', 'organizations retire a', 'organizations rename a b', 'organizations forget a', 'query'],
  ...['worker', 'run acme', 'cancel acme', 'pause', 'resume', 'queue', 'schedule', 'publish', 'serve', 'sql SELECT'],
  ...['signing explain acme', 'export --format csv', 'backup b.db', 'restore b.db'],
  'move --to postgres://127.0.0.1:1/crm',
]

test.each(READING_A_CONFIGURATION)('%s reads the configuration that --config names', async (line) => {
  const { stderr } = await here.run(`${line} --config ${here.config}`, { cwd: temporaryFolder() })

  expect(stderr).not.toContain('customer-mirror.yaml does not exist')
})

test('in a folder that others may write nothing is written, with what to do', async () => {
  const folder = join(here.folder, 'shared')
  mkdirSync(folder)
  chmodSync(folder, 0o775)
  for (const line of ['backup shared/b.db', 'export --format csv -o shared/e.csv', 'publish shared/c.db'])
    expect(await here.run(line), line).toMatchObject(failing(2, /shared: users besides its owner may .*chmod go-w /))
  // As /tmp is.
  chmodSync(folder, 0o1777)
  expect(await here.run('backup shared/b.db')).toMatchObject(failing(2, /Name a folder of its own\.$/m))
  expect(readdirSync(folder)).toEqual([])
  chmodSync(folder, 0o755)
  expect(await here.run('backup shared/b.db')).toMatchObject({ code: 0 })
  expect(readdirSync(folder)).toEqual(['b.db'])
})

test('each command refuses a mirror of another version with 7, and says what to do', async () => {
  tamper(here.mirror, `PRAGMA user_version = ${VERSION + 1}`)
  const before = dump(here.mirror)
  const said =
    `customers.db: another version of Customer Mirror made this mirror (it is of version ${VERSION + 1}, this program makes and reads version ` +
    `${VERSION}), so it is left as it is. Use the version that made it, or name another mirror in the configuration and sync anew.`

  for (const line of [
    ...['sync', 'sync --dry-run', 'status', 'runs', 'query', 'export --format csv', 'publish c/c.db'],
    ...['sql VALUES(1)', 'organizations list', 'backup b.db'],
  ])
    expect(await here.run(line), line).toMatchObject(failing(7, said))
  expect(dump(here.mirror)).toEqual(before)
})
