import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runCli } from './run-cli.ts'
import { temporaryFolder } from './temp-folder.ts'
import { LAUNCHER } from './launcher.ts'

/** What the configurations list. */
export const ORGANIZATIONS = 'organizations:\n  - id: acme\n  - id: acme-two\n  - id: globex\n'

/** Whether this machine has the shell. */
export function has(shell: string): boolean {
  return spawnSync(shell, ['--version']).status === 0
}

/** The configurations that a shell completes from. */
export function writeConfigurations(folder: string): void {
  writeFileSync(join(folder, 'customer-mirror.yaml'), ORGANIZATIONS)
  writeFileSync(join(folder, 'other.yaml'), 'organizations: [{ id: initech }]\n')
  writeFileSync(join(folder, 'my own.yaml'), 'organizations: [{ id: umbrella }]\n')
}

/** A folder with configurations and the script of the shell, and a PATH on which the program is found by its name. */
export async function aPlaceFor(shell: string): Promise<{ cwd: string; env: Record<string, string> }> {
  const cwd = temporaryFolder()
  const programs = join(cwd, 'bin')
  mkdirSync(programs)
  symlinkSync(LAUNCHER, join(programs, 'customer-mirror'))
  writeConfigurations(cwd)
  const { stdout } = await runCli(['completion', shell], { cwd })
  writeFileSync(join(cwd, 'completion'), stdout)
  return { cwd, env: { PATH: `${programs}:${dirname(process.execPath)}:${process.env['PATH']}`, HOME: cwd } }
}
