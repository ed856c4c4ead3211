import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { someOf } from '../support/seeds.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/** What a command loaded: packages by name with their number of files, files of ours by path, parts of Node by name. */
type Loaded = { packages: Map<string, number>; ours: string[]; ofNode: string[] }

const NOTE_LOADED = new URL('../support/note-loaded.mjs', import.meta.url).href
const ROOT = new URL('../../', import.meta.url).href

const COMMAND_LINE = { '@commander-js/extra-typings': 1, commander: 7, leven: 1 }
const CONFIGURATION = { yaml: 72, zod: 32 }
const MIRROR = { 'better-sqlite3': 15 }
const SOURCE = { undici: 22, 'p-limit': 1, 'yocto-queue': 1 }

/** The most files of each package that a command may load, and the files of ours that it has no use for. */
test.each(
  someOf<[command: string, most: Record<string, number>, unused: RegExp]>([
    ['--help', COMMAND_LINE, /^(jobs|src\/(mirror|scan|run|list-memory)\/)/],
    [
      'status',
      { ...COMMAND_LINE, ...CONFIGURATION, ...MIRROR },
      /^(jobs|src\/(scan|run|service|mirror\/retention)\/|src\/mirror\/forget\/forget\.|src\/cli\/sync)/,
    ],
    // Two processes: the one that reads knows nothing of the fields of a customer.
    [
      'query',
      { ...COMMAND_LINE, ...CONFIGURATION, ...MIRROR },
      /^(jobs|src\/(scan|run|service|list-memory)\/|src\/mirror\/(mirror|runs|pages|sqlite\/database)|src\/cli\/(sync|status|sql)\.)/,
    ],
    // Two processes: the one that exports leaves out the same parts.
    [
      'export --format csv',
      { ...COMMAND_LINE, ...CONFIGURATION, zod: 2 * CONFIGURATION.zod, ...MIRROR, 'csv-stringify': 8 },
      /^(jobs|src\/(scan|run|service|list-memory)\/|src\/cli\/(sync|status|sql)\.)/,
    ],
    [
      'sync',
      { ...COMMAND_LINE, ...CONFIGURATION, ...MIRROR, ...SOURCE },
      /^(jobs|src\/(service|mirror\/retention)\/|src\/mirror\/forget\/(forget|erase)\.|src\/log|src\/cli\/status|src\/cli\/output\/live)/,
    ],
  ]),
)('a start of %s loads what it needs and nothing else', async (command, most, unused) => {
  const { packages, ours, ofNode } = await loadedBy(command)

  expect([...packages.keys()].toSorted()).toEqual(Object.keys(most).toSorted())
  expect([...packages].filter(([name, files]) => files > (most[name] ?? 0))).toEqual([])
  expect(ours).toContain('src/cli/main.ts')
  expect(ours.filter((path) => unused.test(path))).toEqual([])
  expect(ofNode).toContain('node:fs')
  expect(ofNode).not.toContain('node:http2')
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
  const packages = new Map<string, number>()
  for (const line of lines) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(line)?.[1]
    if (name !== undefined) packages.set(name, (packages.get(name) ?? 0) + 1)
  }
  return {
    packages,
    ours: lines.filter((line) => line.startsWith(`${ROOT}src/`) || line.startsWith(`${ROOT}jobs/`)).map(pathOf),
    ofNode: lines.filter((line) => line.startsWith('node:')),
  }
}

function pathOf(url: string): string {
  return url.slice(ROOT.length)
}
