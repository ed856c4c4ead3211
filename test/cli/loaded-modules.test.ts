import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { someOf } from '../support/seeds.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/** What a command loaded: packages by name, files of ours by path. */
type Loaded = { packages: string[]; ours: string[] }

const NOTE_LOADED = new URL('../support/note-loaded.mjs', import.meta.url).href
const ROOT = new URL('../../', import.meta.url).href

const COMMAND_LINE = ['@commander-js/extra-typings', 'commander', 'leven']
const CONFIGURATION = ['yaml', 'zod']
const MIRROR = ['better-sqlite3']
const SOURCE = ['undici', 'p-limit', 'yocto-queue']

/** The packages that a command loads, and the files of ours that it has no use for. */
test.each(
  someOf<[command: string, needed: string[], unused: RegExp]>([
    ['--help', COMMAND_LINE, /^(jobs|src\/(mirror|scan|run|list-memory)\/)/],
    [
      'status',
      [...COMMAND_LINE, ...CONFIGURATION, ...MIRROR],
      /^(jobs|src\/(scan|run|service|mirror\/retention)\/|src\/mirror\/forget\/forget\.|src\/cli\/sync)/,
    ],
    // Two processes: the one that reads knows nothing of the fields of a customer.
    [
      'query',
      [...COMMAND_LINE, ...CONFIGURATION, ...MIRROR],
      /^(jobs|src\/(scan|run|service|list-memory)\/|src\/mirror\/(mirror|runs|pages|sqlite\/database)|src\/cli\/(sync|status|sql)\.)/,
    ],
    // Two processes: the one that exports leaves out the same parts.
    [
      'export --format csv',
      [...COMMAND_LINE, ...CONFIGURATION, ...MIRROR],
      /^(jobs|src\/(scan|run|service|list-memory)\/|src\/cli\/(sync|status|sql)\.)/,
    ],
    [
      'sync',
      [...COMMAND_LINE, ...CONFIGURATION, ...MIRROR, ...SOURCE],
      /^(jobs|src\/(service|mirror\/retention)\/|src\/mirror\/forget\/(forget|erase)\.|src\/log|src\/cli\/status|src\/cli\/output\/live)/,
    ],
  ]),
)('a start of %s loads what it needs and nothing else', async (command, needed, unused) => {
  const { packages, ours } = await loadedBy(command)

  expect(packages.toSorted()).toEqual(needed.toSorted())
  expect(ours).toContain('src/cli/main.ts')
  expect(ours.filter((path) => unused.test(path))).toEqual([])
})

/** Runs the command where there is a mirror at rest, so that nothing is loaded to make one. */
async function loadedBy(command: string): Promise<Loaded> {
  const sandbox = await aSandbox({ customers: [40] })
  const { folder } = aWorkplace(organizationsOf(sandbox), { defaults: { scan: 'chain' } })
  expect(await runCli(['sync'], { cwd: folder })).toMatchObject({ code: 0 })
  const file = join(folder, 'loaded.txt')
  const env = { NODE_OPTIONS: `--import=${NOTE_LOADED}`, CUSTOMER_MIRROR_TEST_LOADED: file }
  expect(await startCli(command.split(' '), { cwd: folder, env }).ended).toMatchObject({ code: 0 })
  const lines = readFileSync(file, 'utf8').split('\n')
  const packages = lines.flatMap((line) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(line)?.[1] ?? [])
  return {
    packages: [...new Set(packages)],
    ours: lines.filter((line) => line.startsWith(`${ROOT}src/`) || line.startsWith(`${ROOT}jobs/`)).map(pathOf),
  }
}

function pathOf(url: string): string {
  return url.slice(ROOT.length)
}
