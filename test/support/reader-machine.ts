import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { env as ours, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { type Block, blocksIn, PAGES } from './documents.ts'
import { publishedCopy } from './full-mirror.ts'
import { LAUNCHER, type Running, startCli } from './run-cli.ts'
import { temporaryFolder } from './mirror-file.ts'

const MARK = '@@value@@'

const PAGE = PAGES.filter(({ name }) => name === 'docs/read/recipes.md')

/** The folder of a reader as the page assumes it, with a published copy: by default one of five nights. `python` has the program. */
export async function aReaderMachine({ copy, python = 'python3' }: { copy?: string; python?: string } = {}) {
  const folder = temporaryFolder()
  const published = copy ?? (await publishedCopy())
  const programs = join(temporaryFolder(), 'bin')
  mkdirSync(programs)
  symlinkSync(LAUNCHER, join(programs, 'customer-mirror'))
  const options = {
    cwd: folder,
    env: {
      HOME: temporaryFolder(),
      // No time of a copy may be taken for one of this machine.
      TZ: 'Pacific/Auckland',
      NODE_COMPILE_CACHE: ours['NODE_COMPILE_CACHE'] ?? '',
      PATH: [programs, dirname(execPath), INSTALLED_TOOLS, ours['PATH']].join(delimiter),
    },
  }

  function start({ language, text }: Block, more = ''): Running {
    const script = `${text.replaceAll('/srv/copies', dirname(published))}\n${more}`
    if (language === 'python') return startCli(['-c', script], { ...options, program: python })
    return startCli(['-e', '-c', script], { ...options, program: '/bin/sh' })
  }

  /** Runs a block of the page, then more in the same program, and returns what they print. Fails where one fails. */
  async function run(block: Block, more?: string): Promise<string> {
    const { code, stdout, stderr } = await start(block, more).ended
    if (code !== 0) throw new Error(`${block.heading} ended with ${code}:\n${block.text}\n${stdout}\n${stderr}`)
    return stdout
  }

  /** Runs a block of Python, and returns the values of these expressions at its end, as JSON has them. */
  async function values(block: Block, ...expressions: readonly string[]): Promise<unknown[]> {
    const lines = expressions.map((expression) => `print("${MARK}" + json.dumps(${expression}, default=str))`)
    const printed = await run(block, ['import json', ...lines].join('\n'))
    const [, ...texts] = printed.split(MARK)
    return texts.map((text) => JSON.parse(text))
  }

  return { folder, copy: published, run, values, start }
}

export function aBlock(heading: string, index = 0): Block {
  const block = blocksOf(heading)[index]
  if (block === undefined) throw new Error(`docs/read/recipes.md has no block ${index + 1} below ${heading}.`)
  return block
}

export function blocksOf(heading?: string): Block[] {
  const blocks = PAGE.flatMap((page) => blocksIn(page))
  return blocks.filter((block) => heading === undefined || block.heading === heading)
}

/** Where `.ci/run` installs the programs of test/handing-on/requirements.txt. */
const INSTALLED = fileURLToPath(new URL('../../node_modules/.cache/handing-on/', import.meta.url))

const INSTALLED_TOOLS = join(INSTALLED, 'bin')
const PYTHON = join(INSTALLED_TOOLS, 'python')

/**
 * Adds the tests of a tool that is in these modules of the installed Python, with the version that the page names. Where they are
 * not installed there are no tests, and the output of a deep run names the tool as untested; other runs do not look for it.
 */
export function withPython(tool: string, modules: readonly string[], addTests: (python: string) => void): void {
  if (!inject('isDeep')) return
  // To import them would take a second each.
  const looking = `import sys, importlib.util as known; sys.exit(not all(map(known.find_spec, sys.argv[1:])))`
  if (succeeds(PYTHON, ['-c', looking, ...modules])) addTests(PYTHON)
  else reportUntested(tool)
}

export function withProgram(program: string, addTests: () => void): void {
  if (succeeds(program, ['--version'])) addTests()
  else reportUntested(program)
}

function succeeds(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args).status === 0
}

function reportUntested(tool: string): void {
  console.log(`untested: ${tool} is not installed here.`)
}
