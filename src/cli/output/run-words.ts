import { commands, configOption, countWords, linesOf, type Table, withConfig } from './print.ts'
import type { Published, PublishedObjects } from '../../copies/publish-plan.ts'
import { factsOfCode } from '../../errors/error-facts.ts'
import { factsOf } from '../../errors/errors.ts'
import type { HeldRemovals, StoredRun } from '../../model/mirror.ts'
import type { Pruned, Report } from '../../model/report.ts'
import { certificateOf, noteLines, proofLines, reasonWords } from '../../status/proof-words.ts'
import type { Outcome } from '../../sync/mirror-organization.ts'
import { count, duration, grouped, listedNames, moment, second } from '../../text/wording.ts'
import { type ExitCode, oneExitCode } from '../command.ts'

export function runsTable(reports: readonly Report[], { withStart = false } = {}): Table {
  const head = ['organization', 'status', 'customers', 'new', 'changed', 'unchanged', 'rejected', 'removed', 'held']
  const rows = reports.map((report) => [
    ...(withStart ? [`#${report.runId ?? '–'}`, second(report.startedAtMs)] : []),
    report.organization,
    statusWords(report),
    customersRead(report),
    ...[report.inserted, report.updated, report.unchanged, report.rejected, report.removed, report.held],
    // They are stored when it ends.
    ...(report.finishedAtMs === undefined
      ? ['–', '–', '–']
      : [report.requests, duration(report.durationMs), proofWords(report)]),
  ])
  return { head: [...(withStart ? ['run', 'started (UTC)'] : []), ...head, 'requests', 'took', 'proof'], rows }
}

/** The status, marked if the run continued another one; its customers then include those of that run. */
function statusWords({ status, error, resumedFrom }: Report): string {
  const words = error === undefined || error.code === status ? status : `${status}: ${error.code}`
  return resumedFrom === undefined ? words : `${words} (resumed)`
}

/** The result of a run in one line, or what it has read so far. */
export function summary(report: Report): string {
  const { inserted, updated, unchanged, rejected, suppressed, missing, removed, returned, held } = report
  const counts = countWords({
    ...{ new: inserted, changed: updated, unchanged, rejected, 'forgotten and not kept': suppressed },
    ...{ missing, removed, returned },
    [report.status === 'partial' ? 'absent at once and not marked' : 'removals held']: held,
  })
  const waited = report.throttled > 0 ? `, waited ${duration(report.waitedMs)} for the rate limit` : ''
  const read = count(customersRead(report), 'customer')
  const of = counts.length > 0 ? `: ${counts.join(', ')}` : ''
  const before = report.readBefore > 0 ? ` (resumed: ${grouped(report.readBefore)} had been read before)` : ''
  if (report.finishedAtMs === undefined) return `${read}${before} so far${of}`
  const cost = `${count(report.requests, 'request')} in ${duration(report.durationMs)}${waited}`
  const { status, reasons, trustedPages = 0 } = report
  const trusted = `partial (${reasons.join(', ')}), ${count(trustedPages, 'page')} trusted without reading`
  return `${read}${before}${of} · ${cost} · ${status === 'partial' ? trusted : proofWords(report)}`
}

/** Customers received, each counted once: neighbouring pages overlap on purpose. */
function customersRead({ readBefore, received, duplicates }: Report): number {
  return readBefore + received - duplicates
}

/** `proven`, `settled (no-witness)`, or `unproven (plain-scan)`. A failed run has its status as its only reason. */
function proofWords({ proof, reasons, status }: Report): string {
  return reasons.every((reason) => reason === status) ? proof : `${proof} (${reasons.join(', ')})`
}

/** Explains one run, its proof and its reasons. `waiting`: its held removals that wait for a decision; `config`: the file that the user named. */
export function describeRun(run: StoredRun, waiting: number, config: string | undefined): string {
  const said = linesOf([
    `run #${run.runId} of ${run.organization}, ${run.status}, started ${moment(run.startedAtMs)} (${run.trigger})`,
    summary(run),
    run.resumedFrom !== undefined && `It continued run #${run.resumedFrom}, which had been interrupted.`,
    run.error !== undefined && `${run.error.code}: ${run.error.message}`,
    '',
    ...proofLines(run),
    ...run.reasons.map((reason) => `  ${reason}: ${reasonWords(reason)}`),
    ...noteLines(run),
    run.proof === 'unproven' &&
      run.removed > 0 &&
      'Removed all the same: customers absent from one whole scan more, whose absence searches confirmed.',
    ...foundLines(certificateOf(run)?.found ?? []),
    ...absenceLines(run, waiting, config),
    run.searchesRefused > 0 &&
      `${count(run.searchesRefused, 'search', 'searches')} for absent customers refused by the service, or without an answer: after proven ` +
        'scans these customers are removed all the same, after others they stay missing.',
  ])
  return `${said.trimEnd()}\n`
}

/** Only the ids, to look up in the service. */
function foundLines(ids: readonly string[]): string[] {
  const more = ids.length - MOST_FOUND
  const lines = ids.slice(0, MOST_FOUND).map((id) => `  found by a search, but not in the list: ${id}`)
  return more > 0 ? [...lines, `  and ${grouped(more)} more, in the certificate (--json)`] : lines
}

const MOST_FOUND = 10

function absenceLines(run: StoredRun, waiting: number, config: string | undefined): string[] {
  const { held, organization, reasons, status } = run
  if (held === 0) return []
  if (status === 'partial')
    return [`${count(held, 'customer')} absent at once, too many to be marked as missing: the next full run decides.`]
  const why = reasons.includes('contradicted')
    ? 'a search of a sample of them found a customer that is listed'
    : 'too many customers were absent at once'
  const said = `${count(held, 'removal')} held back: ${why}.`
  if (waiting === 0) return [`${said} Nothing is left to decide.`]
  const shown = { 'who they are': `removals show ${organization}`, ...decisions(organization) }
  return [`${said} ${count(waiting, 'customer')} to decide about:`, commands(shown, config)]
}

export function decisions(organization: string) {
  return { 'they are gone': `removals approve ${organization}`, 'they are not': `removals discard ${organization}` }
}

/** Runs that ended. `held`: removals that wait for a decision; undefined if unknown. `published`: what was made of their mirror. */
type Ended = { outcomes: Outcome[]; held?: readonly HeldRemovals[] | undefined; published?: Published | undefined }

/** `config`: the configuration file as the user named it, for the commands shown. */
type Asked = { dryRun?: boolean | undefined; config?: string | undefined }

/** The exit code for runs and copies: that of their errors, of partial runs without an order or at their limit, and 3 where a person is awaited. */
export function exitCodeOfRuns({ outcomes, held = [], published }: Ended): ExitCode {
  const ofRuns = outcomes.map(({ error, report: { organization, status, reasons } }) => {
    if (error !== undefined) return factsOf(error).exitCode
    if (reasons.includes('shape-changed') || held.some((each) => each.organization === organization)) return 3
    if (status !== 'partial') return 0
    return reasons.includes('no-order') ? 3 : reasons.includes('request-limit') ? 5 : 0
  })
  const ofCopies = published === undefined ? 0 : copyExitCode(published)
  return oneExitCode([oneExitCode(ofRuns), ofCopies].filter((code) => code !== 0))
}

/** What failed, and what waits for a decision, each with what to do about it. Empty when all is well. */
export function whatToDo({ outcomes, held, published }: Ended, asked: Asked): string {
  const option = configOption(asked.config)
  const ofRuns = outcomes.map(({ report }) => reportAdvice(report, option)).join('')
  const ofCopies = published === undefined ? '' : failedText(published)
  const said =
    failureBlocks(outcomes, asked) + orderAdvice(outcomes, option) + ofRuns + heldAdvice(held, option) + ofCopies
  return withConfig(said, asked.config)
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
  // The causes of the others differ in names and addresses alone.
  const whose = names.length > 1 ? `${organization}: ` : ''
  const said = error?.message ?? ''
  const cause = whose + (said.startsWith(`${organization}: `) ? said.slice(organization.length + 2) : said)
  const isStopped = status === 'interrupted'
  // The mirror does not have a dry run, a run that never began, and a run of a mirror that was replaced.
  const isStored = runId !== undefined && !dryRun && error?.code !== 'replaced'
  return linesOf([
    `\n${isStopped ? '■' : '✖'} ${groupTitle(names, title)}`,
    `  ${dryRun && isStopped ? 'It was a dry run: nothing was saved.' : cause.replaceAll('\n', '\n  ')}`,
    // A stop was asked for, and its cause says what was saved.
    from !== 'stop' && `  fix: ${fixFor(names, fix)}`,
    isStored && `  customer-mirror runs show ${runId}${configOption(config)}`,
  ])
}

/** A fix with the name of the organization, where it is for one. */
export function fixFor([only = '', ...others]: readonly string[], fix: string): string {
  return others.length === 0 ? fix.replaceAll('<organization>', only) : fix
}

/** `acme: bad key`, or `20 organizations: bad key (acme, globex, …)`. */
export function groupTitle(organizations: readonly string[], title: string): string {
  if (organizations.length === 1) return `${organizations.join('')}: ${title}`
  return `${count(organizations.length, 'organization')}: ${title} (${listedNames(organizations)})`
}

function heldAdvice(held: readonly HeldRemovals[] | undefined, option: string): string {
  if (held === undefined)
    return `\nCould not look up whether removals are held back. To look again: customer-mirror removals list${option}\n`
  const texts = held.map(({ organization, held: removals, runId }) => {
    const said = `run ${runId} holds back ${count(removals, 'removal')}, until you decide. Those customers stay unchanged.`
    return `\n${organization}: ${said} Who they are:\n  customer-mirror removals show ${organization}${option}`
  })
  return linesOf(texts)
}

function orderAdvice(outcomes: readonly Outcome[], option: string): string {
  const isUnordered = ({ status, reasons }: Report) => status === 'partial' && reasons.includes('no-order')
  const ids = outcomes.flatMap(({ report }) => (isUnordered(report) ? [report.organization] : []))
  if (ids.length === 0) return ''
  const title = groupTitle(ids, 'a quick run goes by the order in which a full run last read the list')
  return `\n${title}. Make a full run first:\n  customer-mirror sync${ids.length > 20 ? '' : ` ${ids.join(' ')}`}${option}\n`
}

/** What to do about a run that did not fail and could not do all of its work. */
function reportAdvice({ organization, status, reasons, runId, requests, pruned }: Report, option: string): string {
  return linesOf([
    status === 'partial' &&
      reasons.includes('request-limit') &&
      `\n${organization}: the run stopped at its limit, after ${count(requests, 'request')}. What it found is saved, the next one ` +
        'goes on from there, and a full run finds everything.',
    reasons.includes('shape-changed') &&
      `\n${organization}: fields of many customers have changed, and what is stored is kept. To see which, and to take them as they come:\n` +
        `  customer-mirror runs show ${runId ?? ''}${option}\n` +
        `  customer-mirror accept ${organization}${option}`,
    pruned?.error &&
      `! ${organization}: old rows were not deleted, and the next run tries again. ${pruned.error.message}`,
  ])
}

/** What each partial run found, and what retention deleted after a run, a line for each. */
export function foundText(reports: readonly Report[]): string {
  const lines = reports.flatMap((report) => {
    const { organization, status, reasons, pruned } = report
    const isUnread = reasons.includes('no-order')
    const found = isUnread ? 'nothing was read: the order of its list is not known yet' : summary(report)
    return [
      status === 'partial' && `${organization}: ${found}`,
      pruned && pruned.error === undefined && `${organization}: ${prunedWords(pruned)}`,
    ]
  })
  return linesOf(lines)
}

function prunedWords({ changes, removedCustomers, resolvedRejects, runs, isUnfinished }: Pruned): string {
  const rows = { changes, 'removed customers': removedCustomers, 'resolved rejects': resolvedRejects, runs }
  const deleted = countWords(rows)
  return `deleted, older than retention keeps them: ${deleted.join(', ')}${isUnfinished ? '; the next run continues' : ''}`
}

/** What to do about each of these organizations that is no longer mirrored, and whose customers are active all the same. */
export function leftBehindText(all: readonly { organization: string; active: number }[], config?: string): string {
  const left = all.filter(({ active }) => active > 0)
  const texts = left.map(({ organization, active }) => {
    const ways = {
      'if it left': `organizations retire ${organization}`,
      'if it has a new id': `organizations rename ${organization} NEW-ID`,
    }
    const customers = count(active, 'customer')
    return `\n${organization} is not in the configuration, and its ${customers} still count as active.\n${commands(ways, config)}`
  })
  return texts.join('')
}

export function publishedText({ copies, leftOut, parquet, bucket }: Published): string {
  return linesOf([
    ...copies.map(({ file, organizations }) => `Copy for readers: ${file} (${heldBy(organizations)})`),
    parquet && `Parquet for readers: ${objectsWords(parquet)}`,
    bucket && `Objects for readers: ${objectsWords(bucket)}`,
    ...leftOut.map(({ organization }) => `Not in a copy: ${organization}, whose list was never read to its end`),
  ])
}

function objectsWords({ to, organizations, gone }: PublishedObjects): string {
  const written = count(organizations.filter(({ isNew }) => isNew).length, 'object')
  const left = gone.length === 0 ? '' : `; no longer there: ${listedNames(gone)}`
  return `${to} (${heldBy(organizations)}; ${written} written${left})`
}

function heldBy(organizations: readonly { organization: string; customers: number }[]): string {
  const names = organizations.map(({ organization }) => organization)
  const customers = organizations.reduce((sum, each) => sum + each.customers, 0)
  return `${names.length === 1 ? names.join('') : count(names.length, 'organization')}, ${count(customers, 'customer')}`
}

/** What was not published, and what else an administrator should look at. Empty when all is well. */
export function failedText({ failed, warnings }: Published): string {
  // Part of one may stand: the message says what.
  const failures = failed.map(({ message }) => `✖ The copy for readers was not finished. ${message}`)
  return linesOf([...failures, ...warnings.map((warning) => `! ${warning}`)])
}

export function copyExitCode({ copies, failed }: Published): ExitCode {
  return oneExitCode([...copies.map(() => 0 as const), ...failed.map(({ code }) => factsOfCode(code).exitCode)])
}
