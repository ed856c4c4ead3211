import { configOption, count, linesOf, moment, rowsWords, show, sqlText } from './output/print.ts'
import { bareCommand, type Io, jsonCommand, MIRROR } from './command.ts'
import { clocks, fileToRead, withMirrorToChange } from './opening.ts'
import { shownMirror } from '../address/mirror-address.ts'
import type { Config } from '../config/read-config.ts'
import { ORGANIZATION_ID } from '../config/schema.ts'
import { requireKnown } from '../config/suggestion.ts'
import { listCopiesLeft } from '../copies/older-files.ts'
import { listMirroredOrganizations, type MirroredOrganization } from '../copies/organizations.ts'
import { UsageError } from '../errors/errors.ts'
import { ifThere, type Organizations } from '../store/mirror.ts'
import { isoTime } from '../time/moments.ts'
import { beyondText, endUnfinished, erasedText } from './forget.ts'
import { leftBehindText } from './output/run-words.ts'

export function organizationsCommand(io: Io) {
  return bareCommand('organizations', { 'organizations list': '', 'organizations rename acme acme-eu': '' })
    .addCommand(listCommand(io))
    .addCommand(renameCommand(io))
    .addCommand(retireCommand(io))
    .addCommand(organizationForgetCommand(io))
}

function listCommand(io: Io) {
  return jsonCommand('list', { 'organizations list': '' })
    .description('list the organizations of the configuration and of the mirror')
    .addOption(MIRROR)
    .action(async ({ json, ...named }) => {
      const { file, configured } = await fileToRead(named)
      // Organizations are there before the first sync makes the mirror.
      const listing = listMirroredOrganizations(file)
      const mirrored = (await (named.mirror === undefined ? ifThere(listing) : listing)) ?? []
      const mirroredOf = new Map(mirrored.map((each) => [each.organization, each]))
      const lines = [...new Set([...configured, ...mirroredOf.keys()])].map((organization) => {
        const held = mirroredOf.get(organization)
        const isConfigured = named.mirror === undefined ? configured.includes(organization) : undefined
        const inMirror = held?.isLeaving === false
        return { ...NOTHING, ...held, organization, configured: isConfigured, inMirror }
      })
      const rows = lines.map((line) => {
        const read = line.readAsOfMs === undefined ? 'never' : moment(line.readAsOfMs)
        return [line.organization, stateOf(line), line.active, line.removed, read]
      })
      const table = { head: ['organization', 'state', 'active', 'removed', 'last read'], rows }
      const organizations = lines.map(({ isLeaving: unfinishedForget, retiredAtMs, readAsOfMs, ...same }) => {
        return { ...same, unfinishedForget, retiredAt: isoTime(retiredAtMs), readAsOf: isoTime(readAsOfMs) }
      })
      const left = lines.filter((line) => line.configured === false)
      show(io, json, { document: { organizations }, table, text: leftBehindText(left, named.config) })
    })
}

const NOTHING = { active: 0, removed: 0, isLeaving: false, readAsOfMs: undefined, retiredAtMs: undefined }

/** What the mirror holds of an organization, and whether the configuration names it; undefined where none was read. */
type Line = MirroredOrganization & { inMirror: boolean; configured: boolean | undefined }

function stateOf({ configured, inMirror, isLeaving, retiredAtMs }: Line): string {
  if (isLeaving) return 'not wholly forgotten yet'
  if (!inMirror) return 'configured, not mirrored yet'
  if (retiredAtMs !== undefined)
    return configured ? 'retired until its next run' : `retired since ${moment(retiredAtMs).slice(0, 10)}`
  return configured === undefined ? 'in the mirror' : configured ? 'configured' : 'not configured'
}

function renameCommand(io: Io) {
  return jsonCommand('rename', {
    about:
      'Its customers, history, runs and rejects have the new id, and its next run goes on from there. A run of the old id would be refused, because its customers are known under the new one. Every row counts as updated, so that readers notice.',
    'organizations rename acme acme-eu': '',
  })
    .description('give an organization another id, and keep all that is known of it')
    .argument('<organization>', 'its id in the mirror')
    .argument('<new>', 'its new id')
    .action(async (from, to, { config, json }) => {
      if (!ORGANIZATION_ID.test(to))
        throw new UsageError(
          `${JSON.stringify(to)} cannot be the id of an organization: at most 63 lower-case letters, digits, dots, dashes and underscores.`,
        )
      if (from === to) throw new UsageError(`${from}: has this id already. Nothing was changed.`)
      const asked = { id: from, config, mayBeConfigured: true }
      const renamed = await changing(asked, (organizations) => organizations.rename({ from, to }, clocks()))
      // A reader knows rows by organization and id, so it would keep those of the old name beside those of the new one.
      const update = `UPDATE customers SET organization = ${sqlText(to)} WHERE organization = ${sqlText(from)};`
      const text =
        `${from}: is now ${to}, with ${rowsWords(renamed)}.\nRun this wherever rows of the mirror were copied to, in each table that has them:\n` +
        `  ${update}\nIf the configuration names ${from}, change the id to ${to} there before its next run.\n`
      show(io, json, { document: { organization: to, before: from, ...renamed, update }, text })
    })
}

const WHOSE = ['<organization>', 'its id; the configuration must not name it any more'] as const

function retireCommand(io: Io) {
  return jsonCommand('retire', {
    about:
      'Its customers leave active_customers, with a change each, and freshness says since when it is retired. Nothing is deleted. When it is configured again, its next run ends the retirement, and its customers return.',
    'organizations retire acme': '',
  })
    .description('mark all customers of an organization that is no longer configured as removed')
    .argument(...WHOSE)
    .action(async (id, { config, json }) => {
      const { removed } = await changing({ id, config }, (organizations) => organizations.retire(id, clocks()))
      const text = `${id}: retired, ${count(removed, 'customer')} marked as removed. Its rows stay. A run of it would end the retirement.\n`
      show(io, json, { document: { organization: id, retired: true, removed }, text })
    })
}

function organizationForgetCommand(io: Io) {
  return jsonCommand('forget', {
    about:
      'Nothing of it stays in the file, and no change announces this to readers. To let them remove its customers: retire it first, wait until they have read that, then forget it. What this program cannot reach is listed at the end.',
    'organizations forget acme': 'say what would be deleted',
    'organizations forget acme --yes': 'delete it',
  })
    .description('delete everything of an organization, its history and its runs included')
    .argument(...WHOSE)
    .option('--yes', 'delete it; without this, the command only says what it would delete')
    .action(async (id, { config: file, json, yes }) => {
      const again = `customer-mirror organizations forget ${id} --yes${configOption(file)}`
      const forgotten = await changing({ id, config: file }, async (organizations, config) => {
        const deleted = await organizations.contents(id)
        if (!yes)
          throw new UsageError(
            `${id}: nothing was changed. This would delete ${rowsWords(deleted)} for good. If you mean it: ${again}`,
          )
        // An organization that is forgotten is unknown to this command, which could not name them if it was started again.
        const copiesLeft = listCopiesLeft(config, id)
        const finished = await organizations.forget(id, clocks())
        return { organization: id, deleted, finished, mirror: shownMirror(config.mirror), ...copiesLeft() }
      })
      const { deleted, finished, mirror } = forgotten
      const text = linesOf([
        `${id}: forgotten. Deleted: ${rowsWords(deleted)}.`,
        deleted.forgotten > 0 &&
          `The mirror no longer knows that ${count(deleted.forgotten, 'customer')} of it had been forgotten before: if it is mirrored again, they return.`,
        finished && erasedText(mirror, 'any of its rows'),
      ])
      show(io, json, { document: forgotten, text: text + beyondText(forgotten) })
      if (!finished) endUnfinished(io, mirror, again)
    })
}

/** Changes an organization of the mirror. Throws UsageError for one that it does not hold, and for one that its next run would load again. */
async function changing<Result>({ id, mayBeConfigured = false, ...named }: Asked, change: Change<Result>) {
  return withMirrorToChange(named, async ({ organizations }, config) => {
    const isConfigured = config.organizations.some((organization) => organization.id === id)
    const known = await organizations.list()
    const isThere = known.includes(id)
    if (!isThere && isConfigured)
      throw new UsageError(
        `${id}: is in the configuration (${config.file}), and the mirror holds nothing of it. It is enough to change that file.`,
      )
    if (!isThere) requireKnown([id], known)
    if (isConfigured && !mayBeConfigured)
      throw new UsageError(
        `${id}: is still in the configuration (${config.file}), so its next run would load it again. Take it out there first.`,
      )
    return change(organizations, config)
  })
}

type Asked = { id: string; config: string | undefined; mayBeConfigured?: boolean }
type Change<Result> = (organizations: Organizations, config: Config) => Promise<Result>
