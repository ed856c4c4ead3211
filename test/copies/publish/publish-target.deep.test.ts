import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { PLAIN_USER } from '../../../bench/postgres-server.ts'
import { publishApart } from '../../../src/copies/publish-plan.ts'
import { night } from '../../store/nights.ts'
import { aBucketServer, manifestIn, refuse } from '../../support/bucket-server.ts'
import { customers } from '../../support/builders.ts'
import { aMirror, valueOf, temporaryFolder } from '../../support/mirror-file.ts'
import { aPlan, aSmallMirror, isRoot, publishAll } from '../../support/publishing.ts'
import { asPlainUser, runCli } from '../../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../../support/workplace.ts'

describe.runIf(isRoot && asPlainUser() !== undefined)('as another user', () => {
  test('a group that this user is not in is refused, and nothing is left', async () => {
    const mirror = await aSmallMirror()
    const folder = temporaryFolder()
    for (const path of [folder, dirname(mirror)]) chmodSync(path, 0o777)
    for (const name of readdirSync(dirname(mirror))) chmodSync(join(dirname(mirror), name), 0o666)
    const plan = aPlan(mirror, { file: join(folder, 'copies', 'readers.db'), group: 60 })
    const program = new URL('../../../src/report/publish-process.ts', import.meta.url).pathname
    const publish = (change: object) =>
      execFileSync(process.execPath, [program], {
        input: JSON.stringify([{ ...plan, ...change }]),
        env: { ...process.env, NODE_COMPILE_CACHE: inject('compiledForPlainUser') },
        uid: PLAIN_USER,
        gid: PLAIN_USER,
        encoding: 'utf8',
      })

    expect(publish({})).toMatch(/"failed":\[\{.*usage.*to be given to group 60.*\(f?chown, EPERM\)/)
    expect(readdirSync(folder)).toEqual([])
    expect(publish({ file: '/root/copies/readers.db', group: undefined })).toMatch(/usage.*EACCES/)
    expect(publish({ file: '/etc/readers.db', group: undefined })).toMatch(/usage.*permission denied \(open, EACCES\)/)
    expect(publish({ group: undefined })).toMatch(/"failed":\[\]/)
  })
})

test('two publishers at once do not disturb each other: the second waits', async () => {
  const mirror = await aMirror()
  const plan = aPlan(mirror.file, { keep: 2, lockWaitMs: 60_000 })
  for (const n of [0, 1]) {
    await night(mirror, n, customers(1, 5 + n))
    if (n === 0) publishAll(plan)
  }
  const { signal } = new AbortController()
  const all = await Promise.all([1, 2].map(() => publishApart([plan], { signal })))

  expect(all.map(({ failed }) => failed)).toEqual([[], []])
  const names = readdirSync(dirname(plan.file)).map((name) => name.replace(/-\d.*Z/, '-before'))
  expect(names.toSorted()).toEqual(['metadata.json', 'readers-before.db', 'readers-before.db', 'readers.db'])
})

const TO = 's3://analytics/customer-mirror'

test('sync writes into the bucket, and publish asks it; a refusal is in the exit code, and in check; forget names the bucket', async () => {
  const bucket = await aBucketServer()
  const nowhere = { AWS_SHARED_CREDENTIALS_FILE: '/dev/null', AWS_CONFIG_FILE: '/dev/null' }
  const organizations = organizationsOf(await aSandbox({ customers: [12, 3] }))
  const { folder, mirror } = aWorkplace(organizations, { publish: { to: TO } })
  const run = (...args: string[]) => runCli(args, { cwd: folder, env: { ...bucket.env, ...nowhere } })
  const synced = await run('sync', '--json')
  const rows = manifestIn(bucket).organizations.map((each) => each.rows)
  bucket.fault = (_, response) => refuse(response, 403, 'AccessDenied')
  const denied = [await run('publish', `${TO}/`), await run('check')]
  const { stdout } = await run('forget', 'acme', String(valueOf(mirror, 'SELECT id FROM customers LIMIT 1')), '--json')

  expect(synced).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(synced.stdout).published).toMatchObject({
    ...{ copies: [], failed: [] },
    bucket: { to: TO, isNew: true, organizations: [{ organization: 'acme', isNew: true, customers: 12 }, {}] },
  })
  expect(rows).toEqual([12, 3])
  expect(denied).toMatchObject([
    { code: 2, stderr: expect.stringContaining(`${TO} at `) },
    { code: 3, stdout: expect.stringMatching(/✖ publish: s3:.*AccessDenied/) },
  ])
  expect(JSON.parse(stdout).copies).toEqual([TO])
  for (const { stdout: said, stderr } of [synced, ...denied]) expect(said + stderr).not.toMatch(/AKIAEXAMPLE|a secret/)
})
