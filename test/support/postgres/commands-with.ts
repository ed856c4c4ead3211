import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/service/sandbox.ts'
import { runCli, startCli } from '../run-cli.ts'
import { temporaryFolder } from '../temp-folder.ts'
import { aWorkplace, organizationsOf } from '../workplace.ts'

/** Commands with mirrors that the environment names, of the organizations of a sandbox. */
export function commandsWith(sandbox: () => Sandbox) {
  const run = (mirror: string, ...args: string[]) => runCli(args, placeOf(mirror))
  const start = (mirror: string, ...args: string[]) => startCli(args, placeOf(mirror))
  return { run, start, standing, exported }

  function placeOf(mirror: string) {
    const { folder } = aWorkplace(organizationsOf(sandbox()), { defaults: { scan: 'chain' } })
    return { cwd: folder, env: { CUSTOMER_MIRROR_MIRROR: mirror, COLUMNS: '80' } }
  }

  /** How the organizations of a mirror stand, without ages. */
  async function standing(mirror: string): Promise<unknown> {
    const { stdout } = await run(mirror, 'status', '--json')
    return JSON.parse(stdout, (name, value: unknown) => (/age/i.test(name) ? undefined : value))
  }

  /** The lines of an export. */
  async function exported(mirror: string): Promise<string[]> {
    const file = join(temporaryFolder(), 'exported.csv')
    expect(await run(mirror, 'export', '--format', 'csv', '-o', file)).toMatchObject({ code: 0 })
    return readFileSync(file, 'utf8').trimEnd().split('\n')
  }
}
