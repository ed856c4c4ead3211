import { configOption, linesOf, moment, rowsWords, say, show, sqlText } from './output/print.ts'
import { argument, type Io, jsonCommand } from './command.ts'
import { clocks, withMirrorToChange } from './opening.ts'
import { isPostgres, shownMirror } from '../address/mirror-address.ts'
import { listCopiesLeft } from '../copies/older-files.ts'
import { isOurs } from '../errors/errors.ts'
import { readableId } from '../model/customer.ts'
import type { Mirror } from '../store/mirror.ts'
import { isoTime } from '../time/moments.ts'

const UUID = argument(
  (text) => readableId({ id: text }),
  'the id of a customer: a UUID, such as 00000000-0000-4000-8000-000000000001',
)

export function forgetCommand(io: Io) {
  return jsonCommand('forget', {
    about:
      'Nothing of the customer stays but a keyed hash of the id: when the service lists the customer again, runs count the record as suppressed and keep nothing of it. It cannot be undone; --undo only lets the customer in again as a new one. What this program cannot reach (backups, copies, exports) is listed at the end.',
    'forget acme 00000000-0000-4000-8000-000000000001': '',
  })
    .argument('<organization>', 'id of the organization')
    .argument('<uuid>', 'id of the customer', UUID)
    .option('--undo', 'let a forgotten customer come back with the next run; what was deleted stays deleted')
    .action(async (organization, id, { config: file, undo = false, json }) => {
      const customer = { organization, id }
      const named = { config: file, organization }
      if (undo) {
        await withMirrorToChange(named, (mirror) => mirror.readmitCustomer({ ...customer, ...clocks() }))
        const text = `${organization}: ${READMITTED}\n`
        return show(io, json, { document: { ...customer, forgottenAt: null }, text })
      }
      const done = await withMirrorToChange(named, async (mirror, config) => {
        // What cannot be listed ends the command before anything is deleted.
        const copiesLeft = listCopiesLeft(config, organization)
        const forgotten = await mirror.forgetCustomer({ ...customer, ...clocks() })
        const erased = await mirror.eraseForgotten(id).then((how) => ({ erased: how, failure: undefined }), asFailed)
        return { ...forgotten, ...erased, mirror: shownMirror(config.mirror), ...copiesLeft() }
      })
      const { mirror: place, failure, forgottenAtMs, ...facts } = done
      const text = doneText(organization, done) + beyondText({ ...customer, ...facts })
      show(io, json, { document: { ...customer, forgottenAt: isoTime(forgottenAtMs), ...facts }, text })
      if (failure !== undefined) throw failure
      const again = `customer-mirror forget ${organization} ${id}${configOption(file)}`
      if (facts.erased === 'busy') endUnfinished(io, place, again)
    })
}

/** The rows are deleted all the same, so that is reported first. */
function asFailed(failure: unknown) {
  if (isOurs(failure)) return { erased: 'failed', failure } as const
  throw failure
}

const READMITTED =
  'the customer is no longer forgotten. The next run that receives the record saves it as a new customer; what was deleted does not come back.'

type Answer<Verb extends 'forgetCustomer' | 'eraseForgotten'> = Awaited<ReturnType<Mirror[Verb]>>
type Done = Answer<'forgetCustomer'> & { mirror: string; erased: Answer<'eraseForgotten'> | 'failed' }

function doneText(organization: string, { mirror, deleted, forgottenAtMs, wasForgotten, erased }: Done): string {
  const { customers, changes, rejects } = deleted
  const already = wasForgotten ? ` already, since ${moment(forgottenAtMs)}` : ''
  const found = !wasForgotten || customers + changes + rejects > 0 ? ` Deleted: ${rowsWords(deleted)}.` : ''
  return linesOf([
    `${organization}: the customer is forgotten${already}.${found}`,
    (erased === 'erased' || erased === 'released') && erasedText(mirror, 'this customer'),
    erased === 'held' &&
      `Rows of other customers in ${mirror} hold the id of this customer in fields of their own. Those rows stay.`,
    !wasForgotten &&
      'When the service lists the customer again, runs count the record as suppressed and keep nothing of it.',
  ])
}

/** What is left of rows that were deleted and whose bytes were erased, as far as the store can say. */
export function erasedText(mirror: string, rows: string): string {
  if (!isPostgres(mirror)) return `No byte of ${mirror} holds ${rows}.`
  return `No query of ${mirror} finds ${rows}.\n${IN_A_SERVER}`
}

const IN_A_SERVER =
  "Bytes may stay in the server's files until it reuses the space (VACUUM FULL writes the tables anew), and in its WAL, replicas and backups until they expire."

/** Ends a command that deleted rows and could not erase their bytes, and says how to finish its work: by running it again. */
export function endUnfinished(io: Io, mirror: string, again: string): void {
  const why = isPostgres(mirror)
    ? `a transaction in ${mirror}, or on a standby of it, that began before still sees them (a prepared one too)`
    : `${mirror}-wal or unused parts of ${mirror} may still hold their bytes. A program that has the mirror open, too little free space, or a ` +
      'disk that failed kept it from being cleaned'
  const said = `✖ Not finished: the rows are deleted, but ${why}. Wait until queries and runs end, then run again:`
  say(io.stderr, linesOf([said, `  ${again}`]))
  io.exitWith(5)
}

/** Where rows may still be that the mirror has forgotten: copies for readers, and mirrors that restores replaced or left unfinished. */
type Beyond = { copies: readonly string[]; replaced: readonly string[]; organization: string; id?: string }

export function beyondText({ copies, replaced, organization, id }: Beyond): string {
  const where = `WHERE organization = ${sqlText(organization)}${id === undefined ? '' : ` AND id = ${sqlText(id)}`};`
  const deletions = ['customers', 'changes', 'customers_history'].map((table) => `DELETE FROM ${table} ${where}`)
  const listed = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`  - ${what}`, ...names.map((name) => `      ${name}`)]
  return linesOf([
    `\nThis ${id === undefined ? 'organization' : 'customer'} may still be in places that Customer Mirror cannot reach:`,
    `  - ${id === undefined ? WORKER : 'the service: as long as it lists the customer, it has the data'}`,
    `  - ${ELSEWHERE}`,
    ...listed(COPIES, copies),
    ...listed(REPLACED, replaced),
    ...listed('databases that were filled from the mirror. No change announces this deletion. Run there:', deletions),
  ])
}

const WORKER =
  'a worker whose configuration still names this organization, and which would load it again until it has read the new one'
const ELSEWHERE =
  'backups of the mirror, the mirror that it was moved from, copies that were published to other places, exports, failed jobs in the queue, and logs of a worker, the service or a proxy: delete them there, or let them expire'
const COPIES =
  'copies for readers, made before. The next publish replaces one that holds other rows too (customer-mirror publish makes it now); other and older ones, and what a killed publish left (.unfinished), stay until you remove them:'
const REPLACED = 'mirrors that a restore replaced, or that a killed restore or move left unfinished: remove them'
