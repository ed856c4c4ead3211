import { commands, configOption, count, linesOf, moment, printTable, say, show } from './output/print.ts'
import { layoutOf, textOf } from './output/rows.ts'
import { bareCommand, CSV, type Io, jsonCommand, runNumberIn } from './command.ts'
import { requireFound, withMirror, withMirrorToChange } from './opening.ts'
import { decisions } from './output/run-words.ts'
import type { Config } from '../config/read-config.ts'
import { writeToStream } from '../copies/write-results.ts'
import { UsageError } from '../errors/errors.ts'
import type { Mirror } from '../store/mirror.ts'
import { shapeWords } from '../status/proof-words.ts'
import { isoTime } from '../time/moments.ts'

export function removalsCommand(io: Io) {
  return bareCommand('removals', { 'removals show acme': '', 'removals approve acme': '' })
    .addCommand(listCommand(io))
    .addCommand(showCommand(io))
    .addCommand(decisionCommand(io, 'approve'))
    .addCommand(decisionCommand(io, 'discard'))
}

function listCommand(io: Io) {
  return jsonCommand('list', { 'removals list': '' })
    .description('list the runs that hold removals back')
    .action(async ({ config, json }) => {
      const held = await withMirror({ config }, (mirror) => mirror.listHeldRemovals())
      const removals = held.map(({ runId, startedAtMs, ...run }) => ({ run: runId, ...run, at: isoTime(startedAtMs) }))
      const rows = held.map((run) => [`#${run.runId}`, run.organization, run.held, moment(run.startedAtMs)])
      const table = { head: ['run', 'organization', 'held', 'at'], rows, none: 'No removals are held back.\n' }
      show(io, json, { document: { removals }, table })
    })
}

const WHOSE = ['<organization>', 'id of the organization, or number of the run that holds them back'] as const

function showCommand(io: Io) {
  return jsonCommand('show', { 'removals show acme': '', 'removals show acme --csv > to-ask-about.csv': '' })
    .description('list the customers that would be removed')
    .argument(...WHOSE)
    .addOption(CSV)
    .action(async (asked, { config: file, json, csv }) => {
      const held = await withMirror({ config: file }, removalsHeld(asked))
      const { runId: run, organization = asked, customers = [] } = held ?? {}
      if (csv) {
        const { head: columns, rows } = tableOf(customers)
        const layout = layoutOf({ csv }, { document: {}, stdout: io.stdout })
        await writeToStream(io.stdout, textOf([{ columns, rows }], layout), io.signal)
        return
      }
      const listed = customers.map(({ absentSinceMs, ...who }) => ({ ...who, absentSince: isoTime(absentSinceMs) }))
      if (held !== undefined && !json) say(io.stdout, headingOf(held))
      const table = { ...tableOf(customers), none: `${organization}: no removals are held back.\n` }
      const text = held && `\n${commands(decisions(organization), file)}`
      show(io, json, { document: { run, organization, customers: listed }, table, text })
    })
}

const DECISIONS = {
  approve: { does: 'mark the customers that a run held back as removed', done: 'marked as removed' },
  discard: { does: 'discard the removals that a run held back', done: 'no longer held; they stay unchanged' },
}

function decisionCommand(io: Io, decision: keyof typeof DECISIONS) {
  const { does, done } = DECISIONS[decision]
  return jsonCommand(decision, { [`removals ${decision} acme`]: '', [`removals ${decision} acme --yes`]: '' })
    .description(does)
    .argument(...WHOSE)
    .option('--yes', 'decide without being asked, as a script must')
    .action(async (asked, { config: file, json, yes }) => {
      const held = await withMirror({ config: file }, removalsHeld(asked))
      if (held === undefined) throw new UsageError(`${asked} holds no removals. ${LISTED}`)
      const { runId: run, organization, customers: shown } = held
      if (!yes) {
        const see = `customer-mirror removals show ${organization}${configOption(file)}`
        if (json || io.ask === undefined)
          throw new UsageError(`There is no terminal to ask on. See who they are with '${see}', then add --yes.`)
        say(io.stdout, headingOf(held))
        printTable(io.stdout, tableOf(shown.slice(0, MOST_ASKED)))
        const more = shown.length - MOST_ASKED
        if (more > 0) say(io.stdout, `and ${count(more, 'more customer')}: ${see}\n`)
        const answer = await io.ask(`\nDo you ${decision} the removal of ${count(shown.length, 'customer')}? [y/N] `)
        if (!/^y(es)?$/i.test(answer.trim())) return say(io.stdout, 'Nothing was changed.\n')
      }
      // A run that held others back meanwhile has another number, and its customers were not shown.
      const customers = await withMirrorToChange({ config: file }, (mirror) =>
        decision === 'approve' ? mirror.approveRemovals(run, Date.now()) : mirror.discardRemovals(run),
      )
      const text = `Run ${run}: ${count(customers, 'customer')} ${done}.\n`
      show(io, json, { document: { run, organization, decision, customers }, text })
    })
}

const MOST_ASKED = 20

type HeldCustomer = Awaited<ReturnType<Mirror['listHeldCustomers']>>[number]
type Held = { runId: number; organization: string; customers: HeldCustomer[] }

/** The removals that wait of an organization, or of a run by its number. Undefined for an organization of which none wait. Throws UsageError. */
function removalsHeld(asked: string) {
  return async (mirror: Mirror, config: Config): Promise<Held | undefined> => {
    const waiting = await mirror.listHeldRemovals()
    const number = runNumberIn(asked)
    const held =
      waiting.find(({ organization }) => organization === asked) ?? waiting.find(({ runId }) => runId === number)
    if (held !== undefined) return { ...held, customers: await mirror.listHeldCustomers(held.runId) }
    if (number === undefined) return requireFound(asked, mirror, config).then(() => undefined)
    const run = await mirror.findRun(number)
    const newer = waiting.find(({ organization }) => organization === run?.organization)
    const next =
      newer && `Run ${newer.runId} does now: 'customer-mirror removals show ${newer.organization}' lists its customers.`
    throw new UsageError(`Run ${number} holds no removals. ${next ?? LISTED}`)
  }
}

const LISTED = "'customer-mirror removals list' lists the runs that do."

function headingOf({ runId, organization, customers }: Held): string {
  return `Run ${runId} of ${organization} holds back the removal of ${count(customers.length, 'customer')}:\n`
}

function tableOf(customers: readonly HeldCustomer[]) {
  const rows = customers.map((each) => [each.id, each.name, each.username, each.email, isoTime(each.absentSinceMs)])
  return { head: ['id', 'name', 'username', 'email', 'absent_since'], rows }
}

export function acceptCommand(io: Io) {
  return jsonCommand('accept', {
    about:
      "A service may rename a field, or send it in another form: then it comes empty for many customers at once, or their records are rejected. The run keeps what is stored and says shape-changed, until the service is repaired or you accept the data as it comes: 'customer-mirror runs show' names the fields.",
    'accept acme': 'the next run empties these fields; rejected records keep their last good values',
    'accept acme --json': 'the fields that were accepted, as one JSON document',
  })
    .argument('<organization>', 'id of the organization')
    .action(async (organization, { config, json }) => {
      const accepted = await withMirrorToChange({ config }, (mirror) => mirror.acceptShape(organization, Date.now()))
      const fields = accepted.map((change) => `  ${shapeWords(change)}`)
      const text = linesOf([`${organization}: accepted. The next run stores what it receives:`, ...fields])
      show(io, json, { document: { organization, accepted }, text })
    })
}
