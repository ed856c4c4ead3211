import { staleCopies } from './publishing.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parse, stringify } from 'yaml'
import { organizationsCommand } from '../../src/cli/organizations.ts'
import { publishCommand } from '../../src/cli/publish.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { configuredPlans } from '../../src/copies/publish-plan.ts'
import { runCommand } from './run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

/** Three mirrored organizations, and how to run commands with another configuration than the one on the disk. */
export async function aMirroredWorkplace(settings: object = {}) {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7, 3] })), {
    defaults: { scan: 'chain' },
    ...settings,
  })
  const { config, folder, mirror } = workplace
  const written = parse(readFileSync(config, 'utf8'))
  const older = join(folder, 'older.yaml')
  writeFileSync(older, readFileSync(config), { mode: 0o600 })
  await runCommand(syncCommand, ['--config', config])
  return {
    mirror,
    sync: (organization: string) => runCommand(syncCommand, [organization, '--json', '--config', config]),
    syncAsBefore: (organization: string) => runCommand(syncCommand, [organization, '--json', '--config', older]),
    publish: () => runCommand(publishCommand, ['--config', config]),
    change: (...args: string[]) => runCommand(organizationsCommand, [...args, '--config', config]),
    stale: async () =>
      configuredPlans(await readConfig({ file: config, cwd: folder })).flatMap((plan) =>
        'file' in plan ? staleCopies(plan) : expect.fail('a file'),
      ),
    /** Gives acme another id in the configuration, or takes it out. */
    configure: (id: string | undefined) => {
      const [acme, ...others] = written.organizations
      const organizations = id === undefined ? others : [{ ...acme, id }, ...others]
      writeFileSync(config, stringify({ ...written, organizations }))
    },
  }
}

/** The report of the first run that `--json` prints. */
export const reportOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout).runs[0]
