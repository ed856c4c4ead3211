import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'

/** Where `.ci/run` installs the programs of test/handing-on/requirements.txt. */
const INSTALLED = fileURLToPath(new URL('../../node_modules/.cache/handing-on/', import.meta.url))

/** The programs of the installed packages. */
export const INSTALLED_TOOLS = join(INSTALLED, 'bin')

/**
 * Adds the tests of a tool that is in these modules of Python: with the installed one, that of the PATH, or the one of the system,
 * whichever has them. Where none has, there are no tests, and the output names the tool as untested. Only the quick ones are
 * looked for in a run that is not deep.
 */
export function withPython(
  tool: string,
  { modules, isQuick = false }: { modules: readonly string[]; isQuick?: boolean },
  addTests: (python: string) => void,
): void {
  if (!isQuick && !inject('isDeep')) return
  const pythons = [join(INSTALLED_TOOLS, 'python'), 'python3', '/usr/bin/python3']
  const found = pythons.find((python) => succeeds(python, ['-c', `import ${modules.join(', ')}`]))
  if (found === undefined) reportUntested(tool)
  else addTests(found)
}

/** Adds the tests of a program of the PATH. */
export function withProgram(program: string, addTests: () => void): void {
  if (succeeds(program, ['--version'])) addTests()
  else reportUntested(program)
}

function succeeds(program: string, args: readonly string[]): boolean {
  if (program.includes('/') && !existsSync(program)) return false
  return spawnSync(program, args).status === 0
}

function reportUntested(tool: string): void {
  console.log(`untested: ${tool} is not installed here.`)
}
