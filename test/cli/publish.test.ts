import { appendFileSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { valueOf } from '../support/mirror-file.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const OUR_GROUP = process.getgid?.() ?? 0

test('publishes to the file that is named, then as configured', async () => {
  const { run, config, folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [12, 3] })))
  const file = join(folder, 'copies', 'x.db')
  expect(await run('sync')).toMatchObject({ code: 0 })
  appendFileSync(config, '  - { id: soon, baseUrl: https://s.example.com, apiKey: { env: A }, secret: { env: B } }\n')
  expect(await run('publish copies/x.db')).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^! \S+x\.db: only its owner may read it; .* publish\.group\b/),
    stdout: expect.stringContaining('Not in a copy: soon, '),
  })
  const stopped = await run('publish copies/x.db', { signal: AbortSignal.abort() })
  expect(stopped).toMatchObject({ code: 1, stderr: expect.stringContaining('Publishing was stopped as asked.') })
  expect(valueOf(file, 'SELECT count(*) FROM customers')).toBe(15)
  expect([file, dirname(file)].map((path) => statSync(path).mode & 0o777)).toEqual([0o400, 0o700])

  const parquet = join(folder, 'copies', 'parquet')
  const settings = { file: 'copies/x-{organization}.db', parquet: 'copies/parquet', group: OUR_GROUP, keep: 1 }
  appendFileSync(config, `publish: ${JSON.stringify(settings)}\n`)
  const { code, stdout, stderr } = await run(`publish --json --config ${config}`, { cwd: '/' })

  const shut = expect.stringMatching(`^! \\S+: its readers cannot enter ${folder}, unless .*Run chmod o\\+x ${folder},`)
  expect({ code, said: stderr.trimEnd().split('\n') }).toEqual({ code: 0, said: [shut, shut, shut] })
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ schemaVersion: 1, leftOut: [{ organization: 'soon' }], failed: [] },
    copies: [
      { file: join(folder, 'copies/x-acme.db'), organizations: [{ organization: 'acme', customers: 12, active: 12 }] },
      { file: join(folder, 'copies/x-globex.db'), organizations: [{ organization: 'globex', customers: 3 }] },
    ],
    parquet: { to: parquet, organizations: [{ organization: 'acme', customers: 12 }, { organization: 'globex' }] },
  })
})

test('sync publishes after its runs, a dry run never; a copy that fails has an exit code of its own, and stops no other', async () => {
  const publish = { file: './copies/x.db', parquet: 'copies/parquet' }
  const { run, folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [12, 3] })), { publish })
  const readers = join(folder, 'copies', 'x.db')
  expect(await run('sync --dry-run')).toMatchObject({ code: 0 })
  expect(existsSync(dirname(readers))).toBe(false)
  mkdirSync(readers, { recursive: true })
  const failed = await run('sync --json')

  expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining(`${readers}: is a folder`) })
  expect(JSON.parse(failed.stdout)).toMatchObject({
    runs: [{ status: 'complete' }, { status: 'complete' }],
    published: {
      ...{ copies: [], failed: [{ code: 'usage' }] },
      parquet: { isNew: true, organizations: [{ customers: 12 }, { customers: 3 }] },
    },
  })
})
