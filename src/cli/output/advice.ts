import type { Organization } from '../../config/organization.ts'
import type { Published } from '../../copies/publish-plan.ts'
import { factsOfCode } from '../../errors/error-facts.ts'
import { factsOf, reportedError } from '../../errors/errors.ts'
import type { HeldRemovals } from '../../model/mirror.ts'
import type { Report } from '../../model/report.ts'
import type { Outcome } from '../../sync/mirror-organization.ts'
import { listedNames } from '../../text/wording.ts'
import { exitCodeOfAll, oneExitCode, type ExitCode } from '../exit-code.ts'
import { configOption, count, countsOf, duration, grouped } from './say.ts'

/** Runs that ended, and what is needed to say what to do about them. `held`: removals that wait for a decision; undefined if unknown. */
export type Ended = {
  outcomes: readonly Outcome[]
  organizations: readonly Pick<Organization, 'id' | 'scan' | 'resumeWithinMs'>[]
  held: readonly HeldRemovals[] | undefined
}

type Asked = {
  dryRun?: boolean | undefined
  /** The configuration file as the user named it, for the commands shown. */
  config?: string | undefined
}

/** What failed, and what waits for a decision, each with what to do about it. Empty when all is well. */
export function whatToDo(ended: Ended, asked: Asked): string {
  const reports = ended.outcomes.map(({ report }) => report)
  const option = configOption(asked.config)
  return (
    failureBlocks(ended, asked) +
    reports.map((report) => reportAdvice(report, option)).join('') +
    heldAdvice(ended.held, option)
  )
}

/** One block for each way in which organizations failed or were stopped: their names, the cause, what to do, and the command that shows a run. */
export function failureBlocks(ended: Omit<Ended, 'held'>, asked: Asked): string {
  const failed = ended.outcomes.filter(({ error }) => error !== undefined)
  const groups = Map.groupBy(failed, (outcome) => headOf(outcome) + fixOf(outcome, ended, asked))
  return [...groups.values()].map((alike) => blockOf(alike, ended, asked)).join('')
}

function blockOf(alike: readonly Outcome[], ended: Omit<Ended, 'held'>, asked: Asked): string {
  const [first] = alike
  if (first === undefined) return ''
  const { organization, runId, error } = first.report
  const names = alike.map(({ report }) => report.organization)
  const message = error?.message ?? ''
  const isNamed = message.startsWith(`${organization}: `)
  // The causes of the others differ in names and addresses alone.
  const cause = names.length > 1 && !isNamed ? `${organization}: ${message}` : message
  const shown = names.length === 1 && isNamed ? cause.slice(organization.length + 2) : cause
  const fix = fixOf(first, ended, asked)
  // The mirror does not have a dry run, a run that never began, and a run of a mirror that was replaced.
  const isStored = runId !== undefined && !asked.dryRun && error?.code !== 'replaced'
  const lines = [
    `${first.report.status === 'interrupted' ? '■' : '✖'} ${groupTitle(names, headOf(first))}`,
    ...(isStop(first) ? [] : shown.split('\n')),
    names.length === 1 ? fix.replaceAll('<organization>', organization) : fix,
    ...(isStored ? [`customer-mirror runs show ${runId}${configOption(asked.config)}`] : []),
  ]
  return `\n${lines.join('\n  ')}\n`
}

/** `acme: bad key`, or `20 organizations: bad key (acme, globex, …)`. */
export function groupTitle(organizations: readonly string[], title: string): string {
  const [only = '', ...others] = organizations
  if (others.length === 0) return `${only}: ${title}`
  return `${count(organizations.length, 'organization')}: ${title} (${listedNames(organizations)})`
}

function headOf(outcome: Outcome): string {
  return isStop(outcome) ? 'stopped' : factsOf(outcome.error).title
}

/** Whether it was asked to stop, which is no cause to be explained. */
function isStop({ report }: Outcome): boolean {
  return factsOfCode(report.error?.code ?? 'unexpected').from === 'stop'
}

/** What to do; for a run that was stopped, what was saved and where the next one starts. */
function fixOf({ report, error }: Outcome, { organizations }: Omit<Ended, 'held'>, { dryRun }: Asked): string {
  if (report.status !== 'interrupted') return `fix: ${factsOf(error).fix}`
  const read = report.readBefore + report.received - report.duplicates
  if (dryRun) return 'It was a dry run: nothing was saved.'
  // The run was not stored, or its progress is unknown.
  if (report.runId === undefined) return report.error?.message ?? ''
  if (read === 0) return 'Nothing had been read yet; the next sync starts at the first page.'
  const saved = `${count(read, 'customer')} read so far ${read === 1 ? 'is' : 'are'} saved; the next sync`
  const settings = organizations.find(({ id }) => id === report.organization)
  if (settings?.scan === 'plain') return `${saved} reads the list from its start, as every plain scan does.`
  return `${saved} continues from here${settings === undefined ? '' : `, within ${duration(settings.resumeWithinMs)}`}.`
}

/** Commands to be copied, each behind what it is for. */
export function commands(rows: readonly (readonly [what: string, command: string])[], option: string): string {
  return rows.map(([what, command]) => `  ${what.padEnd(20)} customer-mirror ${command}${option}\n`).join('')
}

/** The commands that decide about held removals of an organization. */
export function decisions(organization: string) {
  return [
    ['they are gone', `removals approve ${organization}`],
    ['they are not', `removals discard ${organization}`],
  ] as const
}

/** The warning after every sync while removals wait for a decision. */
function heldAdvice(held: readonly HeldRemovals[] | undefined, option: string): string {
  if (held === undefined)
    return `\nCould not look up whether removals are held back. To look again: customer-mirror removals list${option}\n`
  return held
    .map(({ organization, held: removals, runId }) => {
      const looks = [
        ['why, and how many', `runs show ${runId}`],
        ['who they are', `removals show ${organization}`],
      ] as const
      return `
${organization}: ${count(removals, 'removal')} ${removals === 1 ? 'is' : 'are'} held back by run ${runId}, until you decide.
Those customers stay unchanged. Ask the service owner whether they are gone.
${commands([...looks, ...decisions(organization)], option)}`
    })
    .join('')
}

/** What to do about a run that did not fail and could not do all of its work. */
function reportAdvice({ organization, status, reasons, runId, requests, pruned }: Report, option: string): string {
  const isPartial = status === 'partial'
  const texts = [
    isPartial &&
      reasons.includes('no-order') &&
      `\n${organization}: such a run goes by the order in which a full run last read the list. Make a full run first:\n` +
        `  customer-mirror sync ${organization}${option}\n`,
    isPartial &&
      reasons.includes('request-limit') &&
      `\n${organization}: the run stopped at its limit, after ${count(requests, 'request')}. What it found is saved, the next one ` +
        'goes on from there, and a full run finds everything.\n',
    reasons.includes('shape-changed') &&
      `\n${organization}: fields of many customers have changed, and what is stored is kept.\n` +
        commands(
          [
            ['which, and how many', `runs show ${runId ?? ''}`],
            ['take it as it comes', `accept ${organization}`],
          ],
          option,
        ),
    pruned?.error !== undefined &&
      `! ${organization}: old rows were not deleted, and the next run tries again. ${pruned.error.message}\n`,
  ]
  return texts.filter((text) => text !== false).join('')
}

/** What each partial run found, and what retention deleted after a run, a line for each. */
export function foundText(reports: readonly Report[]): string {
  return reports
    .flatMap((report) => [...(report.status === 'partial' ? [partialWords(report)] : []), ...prunedWords(report)])
    .join('')
}

/** `acme: 2 new, 1 missing; 996 of 1,003 pages trusted without reading`. */
function partialWords({ organization, reasons, trustedPages = 0, pages, ...report }: Report): string {
  if (reasons.includes('no-order')) return `${organization}: nothing was read: the order of its list is not known yet\n`
  const counts = countsOf([
    [report.inserted, 'new'],
    [report.missing, 'missing'],
    [report.updated, 'changed'],
    [report.rejected, 'rejected'],
    [report.held, 'absent at once, too many to be marked as missing'],
  ])
  const nothing = `nothing new, none ${reasons.includes('not-confirmed') ? 'confirmed as ' : ''}missing`
  const trusted = `${grouped(trustedPages)} of ${count(trustedPages + pages, 'page')} trusted without reading`
  return `${organization}: ${counts.length === 0 ? nothing : counts.join(', ')}; ${trusted}\n`
}

function prunedWords({ organization, pruned }: Report): string[] {
  if (pruned === undefined || pruned.error !== undefined) return []
  const deleted = countsOf([
    [pruned.changes, 'changes'],
    [pruned.removedCustomers, 'removed customers'],
    [pruned.resolvedRejects, 'resolved rejects'],
    [pruned.runs, 'runs'],
  ])
  const rest = pruned.isUnfinished ? '; the next run continues' : ''
  return [`${organization}: deleted, older than retention keeps them: ${deleted.join(', ')}${rest}\n`]
}

/** What to do about an organization that is no longer mirrored, and whose customers are active all the same. */
export function leftBehindText(
  { organization, active }: { organization: string; active: number },
  config: string | undefined,
): string {
  const start = `\n${organization} is not in the configuration, and its ${count(active, 'customer')} still count as active.\n`
  return (
    start +
    commands(
      [
        ['if it left', `organizations retire ${organization}`],
        ['if it has a new id', `organizations rename ${organization} NEW-ID`],
      ],
      configOption(config),
    )
  )
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
  const made = organizations.filter(({ isNew }) => isNew).length
  const written = made === 0 ? 'no object was out of date' : `${count(made, 'object')} written`
  const held = `${count(organizations.length, 'organization')}, ${customersIn(organizations)}`
  return [
    `${what} for readers: ${to} (${held}; ${written})\n`,
    ...gone.map((organization) => `No longer there: ${organization}\n`),
  ]
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
  return exitCodeOfAll([...copies.map(() => undefined), ...failed.map(reportedError)])
}

/** The exit code for runs and the copies made after them. */
export function exitCodeWithCopies(runs: ExitCode, published: Published): ExitCode {
  return oneExitCode([runs, copyExitCode(published)].filter((code) => code !== 0))
}
