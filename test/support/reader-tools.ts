import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'

/** Where `.ci/run` installs the programs of test/handing-on/requirements.txt. */
const INSTALLED = fileURLToPath(new URL('../../node_modules/.cache/handing-on/', import.meta.url))

/** The programs of the installed packages. */
export const INSTALLED_TOOLS = join(INSTALLED, 'bin')

/**
 * Adds the tests of a tool that is in these modules of the installed Python, with the version that the page names. Where they are
 * not installed there are no tests, and the output of a deep run names the tool as untested; other runs do not look for it.
 */
export function withPython(tool: string, modules: readonly string[], addTests: (python: string) => void): void {
  const python = join(INSTALLED_TOOLS, 'python')
  if (!inject('isDeep')) return
  if (succeeds(python, ['-c', `import ${modules.join(', ')}`])) addTests(python)
  else reportUntested(tool)
}

/** Adds the tests of a program of the PATH. */
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
