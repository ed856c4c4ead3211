import { Command } from '@commander-js/extra-typings'
import { say } from '../output/say.ts'
import type { ForgottenOrganization } from '../output/organization-forgotten.ts'
import { UsageError } from '../../errors/errors.ts'
import { monotonicMs } from '../../machine/monotonic-clock.ts'
import { optionsToChange, requireLeft, requireMirrored, withOrganizations } from './change-organizations.ts'
import type { Io } from '../io.ts'
import { jsonDocument } from '../output/json-document.ts'
import { shownMirror } from '../../address/mirror-address.ts'

/** `customer-mirror organizations forget`: deletes everything of an organization. */
export function organizationsForgetCommand(io: Io) {
  return new Command('forget')
    .description('delete everything of an organization, its history and its runs included')
    .argument('<organization>', 'its id; the configuration must not name it any more')
    .option('-c, --config <file>', 'configuration file')
    .option('--yes', 'delete it; without this, the command only says what it would delete')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (id, own, command) => {
      const { config: file, json, yes } = { ...own, ...optionsToChange(command) }
      const { forgetCommand, forgottenOrganizationText } = await import('../output/organization-forgotten.ts')
      const forgotten = await forget(id, file, yes === true)
      if (json) io.stdout.write(jsonDocument(forgotten))
      else say(io.stdout, forgottenOrganizationText(forgotten))
      if (forgotten.finished) return
      const { unfinishedText } = await import('../output/unfinished-text.ts')
      say(io.stderr, unfinishedText(forgotten.mirror, forgetCommand(id, file)))
      io.exitWith(5)
    })
}

async function forget(id: string, file: string | undefined, isConfirmed: boolean): Promise<ForgottenOrganization> {
  const [{ listCopiesLeft }, { unconfirmedText }] = await Promise.all([
    import('../../reading/copies-left.ts'),
    import('../output/organization-forgotten.ts'),
  ])
  return withOrganizations(file, async (organizations, config) => {
    if (!(await organizations.isUnfinished(id)))
      await requireMirrored(id, organizations, config, 'There is nothing to forget: take it out of the configuration.')
    requireLeft(id, config, 'load it again')
    const deleted = await organizations.contents(id)
    if (!isConfirmed) throw new UsageError(unconfirmedText(id, deleted, file))
    // An organization that is forgotten is unknown to this command, which could not name them if it was started again.
    const copiesLeft = listCopiesLeft(config, id)
    const finished = await organizations.forget(id, { nowMs: Date.now(), monotonicMs: monotonicMs() })
    const mirror = shownMirror(config.mirror)
    return { organization: id, deleted, finished, mirror, ...copiesLeft() }
  })
}

const EXAMPLES = `
Nothing of it stays in the file, and no change announces this to readers. To let them remove its customers: retire it
first, wait until they have read that, then forget it. What this program cannot reach is listed at the end.

Examples:
  $ customer-mirror organizations forget acme
      say what would be deleted
  $ customer-mirror organizations forget acme --yes
      delete it
`
