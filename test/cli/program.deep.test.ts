import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { serveMirror } from '../../src/serve/served-mirror.ts'
import { KEY, PEOPLE, PHONE, privacy } from '../support/commands.ts'
import { hang } from '../support/fault-server.ts'
import { aGate, aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { rowsOf, valueOf, temporaryFolder } from '../support/mirror-file.ts'
import { childProgram, LAUNCHER, runCli, runInShell, startCli } from '../support/run-cli.ts'
import { someOf } from '../support/seeds.ts'
import { startWorker } from '../support/worker-log.ts'

const WRITING = someOf(['sync', 'status', 'runs --json', 'schema', '--help', 'check'], { every: 6 })

test.each(WRITING)('%s does not fail when its results are not read to the end', async (command) => {
  const { folder, run } = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
  await run('sync')
  const { code, signal, stderr } = await startCli(command.split(' '), { cwd: folder, unread: 'stdout' }).ended

  // 141 is what a shell makes of a program that ended because its pipe was closed.
  expect([0, 141]).toContain(code)
  expect(signal).toBeNull()
  expect(stderr).not.toMatch(/Error|^\s+at /m)
})

test('a shell gets the exit code and the results, even if standard error is closed', async () => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7], forbidden: ['globex'] })))
  const ended = await startCli(['sync', '--json'], { cwd: folder, unread: 'stderr' }).ended

  expect(ended).toMatchObject({ code: 3, signal: null })
  expect(JSON.parse(ended.stdout)).toMatchObject({ runs: [{ inserted: 120 }, { status: 'failed' }] })
})

test('in a folder that was removed a command ends with 2, and says so', () => {
  const line = 'mkdir gone && cd gone && rmdir ../gone && customer-mirror init'
  const { code, stderr } = runInShell(line, { cwd: temporaryFolder() })

  expect(code).toBe(2)
  expect(stderr).toMatch(/is no longer there\. Change to one .*\n$/)
})

test('SIGUSR1 opens no debugger', async () => {
  const args = ['--import', signalledAtLoad(), LAUNCHER, 'sync', '--config', '/nowhere/customer-mirror.yaml']
  const { stderr } = await startCli(args, { cwd: temporaryFolder(), program: execPath }).ended

  expect(stderr).toMatch(/^\/nowhere\/customer-mirror.yaml does not exist/)
})

/** Sends SIGUSR1 to the process in which the program is about to be loaded. */
function signalledAtLoad(): string {
  return `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module'
    registerHooks({
      load(url, context, next) {
        if (url.endsWith('/cli/main.ts')) process.kill(process.pid, 'SIGUSR1')
        return next(url, context)
      },
    })`)}`
}

test('a second Ctrl-C ends the program at once, even during a page', async () => {
  const server = await aFaultServer(hang())
  const { folder, mirror } = aWorkplace([organizationAt(server)], { defaults: { requestTimeout: '1h' } })
  const running = startCli(['sync'], { cwd: folder })
  await expect.poll(() => server.requests.length).toBe(1)
  const insisting = new AbortController()
  const insist = async () => {
    while (!insisting.signal.aborted) {
      running.send('SIGINT')
      await pause(100)
    }
  }
  const [{ code }] = await Promise.all([running.ended.finally(() => insisting.abort()), insist()])

  expect(code).toBe(130)
  expect(valueOf(mirror, 'PRAGMA integrity_check')).toBe('ok')
})

test('a customer is forgotten to the last byte while readers ask for pages without a pause', async () => {
  const sandbox = await aSandbox({ customers: [40] })
  const { folder, mirror, run } = aWorkplace(organizationsOf(sandbox))
  await run('sync')
  const served = serveMirror(mirror)
  const codes: unknown[] = []
  const forgetting = (async () => {
    for (const { id } of sandbox.organizations[0]?.customers.slice(0, 3) ?? [])
      if (!codes.includes(0)) codes.push((await startCli(['forget', 'acme', id], { cwd: folder }).ended).code)
  })()
  const over = new AbortController()
  void forgetting.finally(() => over.abort())
  while (!over.signal.aborted) {
    await served.page('acme', { page: 1, perPage: 10, search: '', language: '' })
    await pause(1)
  }
  await served.close()

  expect(codes).toContain(0)
})

const RUNS = 'SELECT organization, status, inserted, updated, unchanged FROM runs ORDER BY id > 3, organization'

test('the demo mirrors three organizations, waits for the rate limit, and writes no customer twice', async () => {
  const cwd = temporaryFolder()
  const { code, stdout } = await runCli(['demo'], { cwd })
  const folder = join(cwd, 'data', 'demo')
  const mirror = join(folder, 'customers.db')

  expect(code).toBe(0)
  expect(valueOf(mirror, 'SELECT SUM(throttled) FROM runs')).toBeGreaterThan(0)
  expect(rowsOf(mirror, RUNS).map((run) => Object.values(run).join(' '))).toEqual([
    ...['acme complete 2500 0 0', 'globex complete 1050 0 0', 'initech complete 40 0 0'],
    ...['acme complete 0 0 2500', 'globex complete 0 0 1050', 'initech complete 0 0 40'],
  ])
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM changes')).toBe(0)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers WHERE last_run_id > 3')).toBe(0)
  expect(statSync(mirror).mode & 0o777).toBe(0o600)
  expect([folder, join(cwd, 'data')].map((place) => statSync(place).mode & 0o777)).toEqual([0o700, 0o700])

  const next = stdout.slice(stdout.indexOf('Try next:\n')).trimEnd().split('\n').slice(1)
  const [, sql = ''] = /^ {2}npm start -- sql --mirror data\/demo\/customers\.db "(.*)"$/.exec(next[0] ?? '') ?? []
  expect(rowsOf(mirror, sql).length).toBeGreaterThan(3)
  const [, status = ''] = /^ {2}npm start -- (status .*)$/.exec(next[1] ?? '') ?? []
  expect((await runCli(status.split(' '), { cwd })).stdout).toMatch(/^initech .* 40 /m)
})

/** Packages that take long to load, and talk to servers that are not configured here. */
const SERVERS = ['@aws-sdk', 'bullmq', 'hono', 'ioredis', 'pg', 'pino', 'prom-client']

/** Commands in the order in which one process runs them, each with packages that neither it nor those before it have a use for. */
const UNUSED = {
  '--help': [...SERVERS, 'better-sqlite3', 'undici', 'log-update'],
  status: [...SERVERS, 'undici'],
  query: [...SERVERS, 'undici'],
  'export --format csv': [...SERVERS, 'undici'],
  sync: [...SERVERS, 'log-update'],
}

test('a command loads no package that it has no use for', async () => {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [40] })), { defaults: { scan: 'chain' } })
  // A mirror at rest, so that nothing is loaded to make one.
  expect(await place.run('sync')).toMatchObject({ code: 0 })
  const commands = Object.keys(UNUSED)
  const env = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
  const child = startCli(childProgram('load', ...commands), { cwd: place.folder, program: execPath, env })
  const { code, stdout } = await child.ended
  const loaded: string[][] = JSON.parse(stdout)

  expect(code).toBe(0)
  expect(loaded).toHaveLength(commands.length)
  expect(loaded[0]).toContain('commander')
  expect(
    loaded.map((packages, index) => packages.filter((name) => Object.values(UNUSED)[index]?.includes(name))),
  ).toEqual(commands.map(() => []))
})

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

test('a look-up by a hashed value works as docs/explain/privacy.md shows it', async () => {
  const server = await aFaultServer(PEOPLE)
  const keyInFile = { ...privacy, key: { file: 'privacy.key' } }
  const { folder, run } = aWorkplace([organizationAt(server, { privacy: keyInFile })])
  writeFileSync(join(folder, 'privacy.key'), `${KEY}\n`, { mode: 0o600 })
  expect(await run('sync')).toMatchObject({ code: 0 })

  const docs = readFileSync(new URL('../../docs/explain/privacy.md', import.meta.url), 'utf8')
  const example = /```sh\n(phone=[\s\S]*?)```/.exec(docs)?.[1] ?? ''
  expect(example).toContain('openssl')
  const script = example
    .replace(/^phone=.*$/m, `phone='${PHONE}'`)
    .replaceAll('/srv/customer-mirror/privacy.key', join(folder, 'privacy.key'))
    .replace(/^customer-mirror /m, `'${process.execPath}' '${MAIN}' `)
  const found = execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, encoding: 'utf8' })
  expect(found.match(/Customer \d/g)).toEqual(['Customer 1', 'Customer 2', 'Customer 3'])
})

test('a service that throttles nearly every request is asked at most 40 times, and what was found until then is shown', async () => {
  const gate = aGate()
  gate.open()
  const rateLimits = [{ requests: 2, windowMs: 1000 }]
  const sandbox = await aSandbox({ customers: [1050], rateLimits, intercept: gate.intercept })
  const { code, stdout } = await aWorkplace(organizationsOf(sandbox)).run('conformance acme')

  expect(gate.requests).toBeLessThanOrEqual(40)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^order .* ✔ +by created_at asc/m)
  expect(stdout).toMatch(/^rate limit .* ! +X-RateLimit-Limit: 2; \d+ × 429/m)
})

test.skipIf(isEmbedded)('run starts a job that waits for its next attempt', async () => {
  let isDown = true
  const sandbox = await aSandbox({
    customers: [20],
    intercept: async (_context, next) => (isDown ? new Response('down', { status: 500 }) : next()),
  })
  const place = aJobsWorkplace(organizationsOf(sandbox, { maxWait: '0s' }))
  const worker = startWorker(place, { timings: { firstRetryMs: 3_600_000, longestRetryMs: 3_600_000 } })
  await worker.ran('acme', 'retry')
  isDown = false
  const { queues } = await someQueues(place.queue, place.mirror)
  // The worker reports a run before its job waits.
  await expect.poll(() => queues.sync.getJobCountByTypes('delayed')).toBe(1)
  const asked = await place.run('run acme')

  expect(asked).toMatchObject({ code: 0, stdout: 'acme: has a job that waited; it starts now\n' })
  expect((await worker.ran('acme')).report).toMatchObject({ inserted: 20 })
})
