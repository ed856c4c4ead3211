import { Command } from '@commander-js/extra-typings'
import { ORGANIZATION_ID } from '../../config/values/organization-id.ts'
import type { Config } from '../../config/read-config.ts'
import { UsageError } from '../../errors/errors.ts'
import { monotonicMs } from '../../machine/monotonic-clock.ts'
import { isConfigured, optionsToChange, requireMirrored, withOrganizations } from './change-organizations.ts'
import type { Io } from '../io.ts'
import { say } from '../output/say.ts'
import { sqlText } from '../output/sql-text.ts'
import { jsonDocument } from '../output/json-document.ts'

/** `customer-mirror organizations rename`: gives an organization another id. */
export function organizationsRenameCommand(io: Io) {
  return new Command('rename')
    .description('give an organization another id, and keep all that is known of it')
    .argument('<organization>', 'its id in the mirror')
    .argument('<new>', 'its new id')
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (from, to, own, command) => {
      const { config: file, json } = { ...own, ...optionsToChange(command) }
      refuseNames(from, to)
      const { count } = await import('../output/wording.ts')
      const { renamed, config } = await withOrganizations(file, async (organizations, read) => {
        await requireMirrored(from, organizations, read, `Change its id in ${read.file}: there is nothing to rename.`)
        const clocks = { nowMs: Date.now(), monotonicMs: monotonicMs() }
        return { renamed: await organizations.rename({ from, to }, clocks), config: read }
      })
      const update = updateFor(from, to)
      const said =
        `${from}: is now ${to}, with ${count(renamed.customers, 'customer')}, ${count(renamed.changes, 'change')} and ` +
        `${count(renamed.runs, 'run')}.\nRun this wherever rows of the mirror were copied to, in each table that has them:\n` +
        `  ${update}\n`
      io.stdout.write(json ? jsonDocument({ organization: to, before: from, ...renamed, update }) : said)
      say(io.stderr, whatToConfigure(from, to, config))
    })
}

function refuseNames(from: string, to: string): void {
  if (!ORGANIZATION_ID.test(to)) {
    throw new UsageError(
      `${JSON.stringify(to)} cannot be the id of an organization: it must be at most 63 lower-case letters, digits, dots, ` +
        'dashes and underscores, the first a letter or digit. Nothing was changed.',
    )
  }
  if (from === to) throw new UsageError(`${from}: has this id already. Nothing was changed.`)
}

/** A reader knows rows by organization and id, so it would keep those of the old name beside those of the new one. */
function updateFor(from: string, to: string): string {
  return `UPDATE customers SET organization = ${sqlText(to)} WHERE organization = ${sqlText(from)};`
}

function whatToConfigure(from: string, to: string, config: Config): string {
  const [hasOld, hasNew] = [isConfigured(config, from), isConfigured(config, to)]
  if (hasOld && hasNew) return `The configuration (${config.file}) still names ${from}: take it out there.\n`
  if (hasOld) return `Now change the id ${from} to ${to} in the configuration (${config.file}), before its next run.\n`
  if (!hasNew) return `The configuration (${config.file}) does not name ${to}: until it does, it is not mirrored.\n`
  return ''
}

const EXAMPLES = `
Its customers, history, runs and rejects have the new id, and its next run goes on from there. A run of the old id would be
refused, because its customers are known under the new one. Every row counts as updated, so that readers notice.

Examples:
  $ customer-mirror organizations rename acme acme-eu
  $ customer-mirror organizations rename acme acme-eu --json
`
