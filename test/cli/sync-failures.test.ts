import { expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { list, refusal } from '../support/fault-server.ts'
import { onlyRun, syncRuns } from '../support/json-page.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

test('a failing organization stops no other, and the program ends with 3', async () => {
  const { folder, mirror } = aWorkplace(
    organizationsOf(await aSandbox({ customers: [150, 5, 7], forbidden: ['globex'] })),
  )
  const { code, stdout, stderr } = await runCli(['sync', '--json'], { cwd: folder })

  expect(code).toBe(3)
  expect(syncRuns(stdout).map(({ status, received }) => [status, received])).toEqual([
    ['complete', 150],
    ['failed', 0],
    ['complete', 7],
  ])
  expect(stderr).toMatch(/^✖ globex: plan forbids\n.* 403/m)
  expect(rowsOf(mirror, 'SELECT organization, status, error_code FROM runs ORDER BY organization')).toEqual([
    { organization: 'acme', status: 'complete', error_code: null },
    { organization: 'globex', status: 'failed', error_code: 'forbidden' },
    { organization: 'initech', status: 'complete', error_code: null },
  ])
})

test.each([
  ['deleted', (mirror: string) => rmSync(mirror), 'was deleted or moved away'],
  ['replaced', (mirror: string) => renameSync(otherMirror(), mirror), 'was replaced by another file'],
])(
  'a mirror that is %s while it is written ends the program with 5, and no run is complete',
  async (_how, meddle, what) => {
    const mirrors: string[] = []
    const sandbox = await aSandbox({
      customers: [500],
      intercept: async (context, next) => {
        const mirror = context.req.query('page') === '4' ? mirrors.pop() : undefined
        if (mirror !== undefined) meddle(mirror)
        await next()
      },
    })
    const { folder, mirror } = aWorkplace(organizationsOf(sandbox))
    mirrors.push(mirror)

    const { code, stdout } = await runCli(['sync', '--json'], { cwd: folder })

    expect(code).toBe(5)
    expect(onlyRun(stdout)).toMatchObject({ status: 'failed', proof: 'unproven', error: { code: 'replaced' } })
    expect(onlyRun(stdout).error?.message).toContain(`${mirror}: ${what} while it was open`)
    const again = await runCli(['sync', '--json'], { cwd: folder })
    expect([again.code, onlyRun(again.stdout).inserted]).toEqual([0, 500])
  },
)

test('when every organization is refused, the program ends with 4', async () => {
  const [key, plan, address] = [
    await aFaultServer(refusal(401, 'unauthorized', 'No.')),
    await aFaultServer(refusal(403, 'forbidden', 'No.')),
    await aFaultServer(refusal(404, 'not_found', 'No.')),
  ]
  const { folder } = aWorkplace([
    organizationAt(key, { id: 'key' }),
    organizationAt(plan, { id: 'plan' }),
    organizationAt(address, { id: 'address' }),
  ])
  const { code, stdout } = await runCli(['sync', '--json'], { cwd: folder })

  expect(code).toBe(4)
  expect(syncRuns(stdout).map(({ error }) => error?.code)).toEqual(['unauthorized', 'forbidden', 'not-found'])
  expect([key, plan, address].map(({ requests }) => requests.length)).toEqual([1, 1, 1])
})

test('when the service cannot be reached, the program ends with 5', async () => {
  const gone = await aFaultServer(list(1))
  await gone.close()
  const { folder } = aWorkplace([organizationAt(gone)], { defaults: { maxWait: '0s' } })
  const { code, stdout } = await runCli(['sync', '--json'], { cwd: folder })

  expect(code).toBe(5)
  expect(onlyRun(stdout).error).toMatchObject({ code: 'network', message: expect.stringContaining(gone.origin) })
})

test('when the service throttles for longer than maxWait, the program ends with 5', async () => {
  const server = await aFaultServer(refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '3600' }))
  const { folder } = aWorkplace([organizationAt(server)], { defaults: { maxWait: '10m' } })
  const { code, stdout, stderr } = await runCli(['sync', '--json'], { cwd: folder })

  expect(code).toBe(5)
  expect(onlyRun(stdout)).toMatchObject({ throttled: 1, error: { code: 'rate-limited' } })
  expect(onlyRun(stdout).error?.message).toContain('3600 s')
  expect(stderr).toMatch(/fix: .*maxWait.*the next run continues/)
})

test('an organization held by another run does not delay the others', async () => {
  const server = await aFaultServer(list(3))
  const { folder, mirror } = aWorkplace([
    organizationAt(server),
    organizationAt(server, { id: 'globex', apiKey: 'another-made-up-key' }),
  ])
  const other = await openMirror(mirror)
  onTestFinished(() => other.close())
  await other.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })
  const { code } = await runCli(['sync'], { cwd: folder })

  expect(code).toBe(3)
  expect(server.requests).toHaveLength(1)
  expect(valueOf(mirror, `SELECT COUNT(*) FROM customers WHERE organization = 'globex'`)).toBe(3)
})

test('an unknown organization ends with 2 before any request, with a suggestion', async () => {
  const server = await aFaultServer(list(1))
  const { folder } = aWorkplace([organizationAt(server), organizationAt(server, { id: 'globex', apiKey: 'other-key' })])
  const { code, stdout, stderr } = await runCli(['sync', 'acme', 'globx'], { cwd: folder })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe('unknown organization "globx" (did you mean "globex"?): the configuration has acme, globex\n')
  expect(server.requests).toEqual([])
})

test('without a configuration it ends with 2 and explains how to write one', async () => {
  const { code, stdout, stderr } = await runCli(['sync'], { cwd: temporaryFolder() })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe(
    "customer-mirror.yaml does not exist: run 'customer-mirror init' to write one, or name another with --config\n",
  )
})

test.each<[string[], string]>([
  [['--limit-pages', '0'], 'It must be a whole number, at least 1.'],
  [['--limit-pages', 'all'], 'It must be a whole number, at least 1.'],
  [['--log-level', 'everything'], 'debug, info, warn'],
  [['--every-night'], "unknown option '--every-night'"],
])('%j ends with 2 and lists the possible values', async (options, said) => {
  const server = await aFaultServer(list(1))
  const { folder } = aWorkplace([organizationAt(server)])
  const { code, stdout, stderr } = await runCli(['sync', ...options], {
    cwd: folder,
  })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(said)
  expect(stderr).not.toContain('defect')
  expect(server.requests).toEqual([])
})

/** An empty file, which a mirror can be made in. */
function otherMirror(): string {
  const file = join(temporaryFolder(), 'other.db')
  writeFileSync(file, '')
  return file
}
