import { commands, configOption, count, countsOf, duration, grouped, moment, second, type Table } from './print.ts'
import type { Published } from '../../copies/publish-plan.ts'
import { factsOf, reportedError } from '../../errors/errors.ts'
import type { HeldRemovals, StoredRun } from '../../model/mirror.ts'
import type { Report } from '../../model/report.ts'
import { certificateOf, noteLines, proofLines, reasonWords } from '../../status/proof-words.ts'
import type { Outcome } from '../../sync/mirror-organization.ts'
import { listedNames } from '../../text/wording.ts'
import { exitCodeOf, type ExitCode, oneExitCode } from '../command.ts'

/** A table of runs, one row each. */
export function runsTable(reports: readonly Report[], { withStart = false } = {}): Table {
  const head = ['organization', 'status', 'customers', 'new', 'changed', 'unchanged', 'rejected', 'removed', 'held']
  const rows = reports.map((report) => [
    ...(withStart ? [`#${report.runId ?? '–'}`, second(report.startedAtMs)] : []),
    report.organization,
    statusWords(report),
    report.readBefore + differentCustomers(report),
    ...[report.inserted, report.updated, report.unchanged, report.rejected, report.removed, report.held],
    ...endOf(report),
  ])
  return { head: [...(withStart ? ['run', 'started (UTC)'] : []), ...head, 'requests', 'took', 'proof'], rows }
}

/** Its requests, its duration and what it proved, which are stored when it ends. */
function endOf(report: Report): (string | number)[] {
  if (report.status === 'running') return ['–', '–', '–']
  // A failed run has its status as its only reason.
  const isSaid = report.reasons.every((reason) => reason === report.status)
  return [report.requests, duration(report.durationMs), isSaid ? report.proof : proofWords(report)]
}

/** The status, marked if the run continued another one; its customers then include those of that run. */
function statusWords({ status, error, resumedFrom }: Report): string {
  const words = error === undefined || error.code === status ? status : `${status}: ${error.code}`
  return resumedFrom === undefined ? words : `${words} (resumed)`
}

/** The result of a run in one line, or what it has read so far. */
export function summary(report: Report): string {
  const counts = countsOf([
    [report.inserted, 'new'],
    [report.updated, 'changed'],
    [report.unchanged, 'unchanged'],
    [report.rejected, 'rejected'],
    [report.suppressed, 'forgotten and not kept'],
    [report.missing, 'missing'],
    [report.removed, 'removed'],
    [report.returned, 'returned'],
    [report.held, report.status === 'partial' ? 'absent at once and not marked' : 'removals held'],
  ])
  const waited = report.throttled > 0 ? `, waited ${duration(report.waitedMs)} for the rate limit` : ''
  const read = count(report.readBefore + differentCustomers(report), 'customer')
  const of = counts.length > 0 ? `: ${counts.join(', ')}` : ''
  const before = report.readBefore > 0 ? ` (resumed: ${grouped(report.readBefore)} had been read before)` : ''
  if (report.status === 'running') return `${read}${before} so far${of}`
  const cost = `${count(report.requests, 'request')} in ${duration(report.durationMs)}${waited}`
  const { status, reasons, trustedPages = 0 } = report
  const trusted = `partial (${reasons.join(', ')}), ${count(trustedPages, 'page')} trusted without reading`
  return `${read}${before}${of} · ${cost} · ${status === 'partial' ? trusted : proofWords(report)}`
}

/** Customers received, each counted once: neighbouring pages overlap on purpose. */
function differentCustomers({ received, duplicates }: Pick<Report, 'received' | 'duplicates'>): number {
  return received - duplicates
}

/** `proven`, `settled (no-witness)`, or `unproven (plain-scan)`. */
function proofWords({ proof, reasons }: Pick<Report, 'proof' | 'reasons'>): string {
  return reasons.length > 0 ? `${proof} (${reasons.join(', ')})` : proof
}

/**
 * Explains one run: what it did, what its scan proves, and each reason in one sentence. `waiting` is the number of its held
 * removals that still wait for a decision, and `config` the file that the user named.
 */
export function describeRun(run: StoredRun, waiting: number, config: string | undefined): string {
  const lines = [
    `run #${run.runId} of ${run.organization}, ${run.status}, started ${moment(run.startedAtMs)} (${run.trigger})`,
    summary(run),
    run.resumedFrom !== undefined && `It continued run #${run.resumedFrom}, which had been interrupted.`,
    run.error !== undefined && `${run.error.code}: ${run.error.message}`,
    '',
    ...proofLines(run),
    ...run.reasons.map((reason) => `  ${reason}: ${reasonWords(reason)}`),
    ...noteLines(run),
    ...foundLines(certificateOf(run)?.found ?? []),
    ...absenceLines(run, waiting, configOption(config)),
    run.searchesRefused > 0 &&
      `${count(run.searchesRefused, 'search', 'searches')} for absent customers refused by the service, or without an answer: after proven ` +
        'scans these customers are removed all the same, after others they stay missing.',
  ]
  const said = lines.filter((line) => line !== false)
  return `${said.join('\n').trimEnd()}\n`
}

/** Only the ids, to look up in the service. */
function foundLines(ids: readonly string[]): string[] {
  const more = ids.length - MOST_FOUND
  const lines = ids.slice(0, MOST_FOUND).map((id) => `  found by a search, but not in the list: ${id}`)
  return more > 0 ? [...lines, `  and ${grouped(more)} more, in the certificate (--json)`] : lines
}

const MOST_FOUND = 10

function absenceLines({ held, organization, reasons, status }: StoredRun, waiting: number, option: string): string[] {
  if (held === 0) return []
  if (status === 'partial')
    return [`${count(held, 'customer')} absent at once, too many to be marked as missing: the next full run decides.`]
  const why = reasons.includes('contradicted')
    ? 'a search of a sample of them found a customer that is listed'
    : 'too many customers were absent at once'
  const said = `${count(held, 'removal')} held back: ${why}.`
  if (waiting === 0) return [`${said} Nothing is left to decide.`]
  const rows = [['who they are', `removals show ${organization}`], ...decisions(organization)] as const
  return [`${said} ${count(waiting, 'customer')} to decide about:`, commands(rows, option)]
}

/** The commands that decide about held removals of an organization. */
export function decisions(organization: string) {
  return [
    ['they are gone', `removals approve ${organization}`],
    ['they are not', `removals discard ${organization}`],
  ] as const
}

/** Runs that ended. `held`: removals that wait for a decision; undefined if unknown. `published`: what was made of their mirror. */
type Ended = { outcomes: Outcome[]; held?: readonly HeldRemovals[] | undefined; published?: Published | undefined }

/** `config`: the configuration file as the user named it, for the commands shown. */
type Asked = { dryRun?: boolean | undefined; config?: string | undefined }

/**
 * The exit code for runs and the copies made after them: that of their errors, of partial runs that knew no order or stopped at their limit, and
 * of organizations that wait for a person.
 */
export function exitCodeOfRuns({ outcomes, held = [], published }: Ended): ExitCode {
  const ofRuns = oneExitCode(
    outcomes.map(({ error, report: { organization, status, reasons } }) => {
      if (error !== undefined) return exitCodeOf(error)
      if (reasons.includes('shape-changed') || held.some((each) => each.organization === organization)) return 3
      if (status !== 'partial') return 0
      return reasons.includes('no-order') ? 3 : reasons.includes('request-limit') ? 5 : 0
    }),
  )
  const ofCopies = published === undefined ? 0 : copyExitCode(published)
  return oneExitCode([ofRuns, ofCopies].filter((code) => code !== 0))
}

/** What failed, and what waits for a decision, each with what to do about it. Empty when all is well. */
export function whatToDo({ outcomes, held, published }: Ended, asked: Asked): string {
  const option = configOption(asked.config)
  const ofRuns = outcomes.map(({ report }) => reportAdvice(report, option)).join('')
  const ofCopies = published === undefined ? '' : failedText(published)
  return failureBlocks(outcomes, asked) + orderAdvice(outcomes, option) + ofRuns + heldAdvice(held, option) + ofCopies
}

/** One block for each way in which organizations failed or were stopped: their names, the cause, what to do, and the command that shows a run. */
export function failureBlocks(outcomes: readonly Outcome[], asked: Asked): string {
  const failed = outcomes.filter(({ error }) => error !== undefined)
  const groups = Map.groupBy(failed, ({ error }) => factsOf(error).title + factsOf(error).fix)
  return [...groups.values()].map((alike) => blockOf(alike, asked)).join('')
}

function blockOf(alike: readonly Outcome[], { dryRun, config }: Asked): string {
  const [first] = alike
  if (first === undefined) return ''
  const { organization, runId, error, status } = first.report
  const { title, fix, from } = factsOf(first.error)
  const names = alike.map(({ report }) => report.organization)
  const message = (error?.message ?? '').replace(`${organization}: `, '')
  const isUnsaved = dryRun && status === 'interrupted'
  // The causes of the others differ in names and addresses alone.
  const cause = isUnsaved
    ? 'It was a dry run: nothing was saved.'
    : `${names.length > 1 ? `${organization}: ` : ''}${message}`
  // The mirror does not have a dry run, a run that never began, and a run of a mirror that was replaced.
  const isStored = runId !== undefined && !dryRun && error?.code !== 'replaced'
  const lines = [
    `${status === 'interrupted' ? '■' : '✖'} ${groupTitle(names, title)}`,
    ...cause.split('\n'),
    // A stop was asked for, and its cause says what was saved.
    ...(from === 'stop' ? [] : [`fix: ${fixFor(names, fix)}`]),
    ...(isStored ? [`customer-mirror runs show ${runId}${configOption(config)}`] : []),
  ]
  return `\n${lines.join('\n  ')}\n`
}

/** A fix with the name of the organization, where it is for one. */
export function fixFor([only = '', ...others]: readonly string[], fix: string): string {
  return others.length === 0 ? fix.replaceAll('<organization>', only) : fix
}

/** `acme: bad key`, or `20 organizations: bad key (acme, globex, …)`. */
export function groupTitle(organizations: readonly string[], title: string): string {
  const [only = '', ...others] = organizations
  if (others.length === 0) return `${only}: ${title}`
  return `${count(organizations.length, 'organization')}: ${title} (${listedNames(organizations)})`
}

/** The warning after every sync while removals wait for a decision. The command shows the customers, and how to decide. */
function heldAdvice(held: readonly HeldRemovals[] | undefined, option: string): string {
  if (held === undefined)
    return `\nCould not look up whether removals are held back. To look again: customer-mirror removals list${option}\n`
  const texts = held.map(({ organization, held: removals, runId }) => {
    const are = `${count(removals, 'removal')} ${removals === 1 ? 'is' : 'are'}`
    const show = `  customer-mirror removals show ${organization}${option}\n`
    return `\n${organization}: ${are} held back by run ${runId}, until you decide. Those customers stay unchanged. Who they are:\n${show}`
  })
  return texts.join('')
}

/** What to do where partial runs knew no order. */
function orderAdvice(outcomes: readonly Outcome[], option: string): string {
  const isUnordered = ({ status, reasons }: Report) => status === 'partial' && reasons.includes('no-order')
  const ids = outcomes.flatMap(({ report }) => (isUnordered(report) ? [report.organization] : []))
  if (ids.length === 0) return ''
  const title = groupTitle(ids, 'a quick run goes by the order in which a full run last read the list')
  return `\n${title}. Make a full run first:\n  customer-mirror sync${ids.length > 20 ? '' : ` ${ids.join(' ')}`}${option}\n`
}

/** What to do about a run that did not fail and could not do all of its work. */
function reportAdvice({ organization, status, reasons, runId, requests, pruned }: Report, option: string): string {
  const texts = [
    status === 'partial' &&
      reasons.includes('request-limit') &&
      `\n${organization}: the run stopped at its limit, after ${count(requests, 'request')}. What it found is saved, the next one ` +
        'goes on from there, and a full run finds everything.\n',
    reasons.includes('shape-changed') &&
      `\n${organization}: fields of many customers have changed, and what is stored is kept. To see which, and to take them as they come:\n` +
        `  customer-mirror runs show ${runId ?? ''}${option}\n` +
        `  customer-mirror accept ${organization}${option}\n`,
    pruned?.error !== undefined &&
      `! ${organization}: old rows were not deleted, and the next run tries again. ${pruned.error.message}\n`,
  ]
  return texts.filter((text) => text !== false).join('')
}

/** What each partial run found, and what retention deleted after a run, a line for each. */
export function foundText(reports: readonly Report[]): string {
  const lines = reports.flatMap((report) => {
    const { organization, status, reasons, pruned } = report
    const isUnread = reasons.includes('no-order')
    const found = isUnread ? 'nothing was read: the order of its list is not known yet' : summary(report)
    return [
      ...(status === 'partial' ? [`${organization}: ${found}\n`] : []),
      ...(pruned === undefined || pruned.error !== undefined ? [] : [`${organization}: ${prunedWords(pruned)}\n`]),
    ]
  })
  return lines.join('')
}

function prunedWords(pruned: NonNullable<Report['pruned']>): string {
  const deleted = countsOf([
    [pruned.changes, 'changes'],
    [pruned.removedCustomers, 'removed customers'],
    [pruned.resolvedRejects, 'resolved rejects'],
    [pruned.runs, 'runs'],
  ])
  const rest = pruned.isUnfinished ? '; the next run continues' : ''
  return `deleted, older than retention keeps them: ${deleted.join(', ')}${rest}`
}

/** What to do about each of these organizations that is no longer mirrored, and whose customers are active all the same. */
export function leftBehindText(all: readonly { organization: string; active: number }[], config?: string): string {
  const left = all.filter(({ active }) => active > 0)
  const text = left.map(({ organization, active }) => {
    const ways = [
      ['if it left', `organizations retire ${organization}`],
      ['if it has a new id', `organizations rename ${organization} NEW-ID`],
    ] as const
    const customers = count(active, 'customer')
    return `\n${organization} is not in the configuration, and its ${customers} still count as active.\n${commands(ways, configOption(config))}`
  })
  return text.join('')
}

/** What was published, a line for each copy, and the organizations that are in none. */
export function publishedText({ copies, leftOut, parquet, bucket }: Published): string {
  const lines = copies.map(({ file, organizations }) => {
    const of = organizations.length === 1 ? organizations[0]?.organization : count(organizations.length, 'organization')
    return `Copy for readers: ${file} (${of ?? ''}, ${customersIn(organizations)})\n`
  })
  const left = leftOut.map(
    ({ organization }) => `Not in a copy: ${organization}, whose list was never read to its end\n`,
  )
  return [...lines, ...objectsText('Parquet', parquet), ...objectsText('Objects', bucket), ...left].join('')
}

function objectsText(what: string, place: Published['bucket']): string[] {
  if (place === undefined) return []
  const { to, organizations, gone } = place
  const written = count(organizations.filter(({ isNew }) => isNew).length, 'object')
  const held = `${count(organizations.length, 'organization')}, ${customersIn(organizations)}`
  const left = gone.length === 0 ? '' : `; no longer there: ${listedNames(gone)}`
  return [`${what} for readers: ${to} (${held}; ${written} written${left})\n`]
}

function customersIn(organizations: readonly { customers: number }[]): string {
  return count(
    organizations.reduce((sum, { customers }) => sum + customers, 0),
    'customer',
  )
}

/** What was not published, and what else an administrator should look at. Empty when all is well. */
export function failedText({ failed, warnings }: Published): string {
  // Part of one may stand: the message says what.
  const failures = failed.map(({ message }) => `✖ The copy for readers was not finished. ${message}\n`)
  return [...failures, ...warnings.map((warning) => `! ${warning}\n`)].join('')
}

/** The exit code for the copies alone. */
export function copyExitCode({ copies, failed }: Published): ExitCode {
  return oneExitCode([...copies.map(() => 0 as const), ...failed.map(reportedError).map(exitCodeOf)])
}
