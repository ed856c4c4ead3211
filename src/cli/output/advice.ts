import type { HeldRemovals } from '../../model/mirror.ts'
import { configOption, count, countsOf, grouped } from './wording.ts'
import type { Report } from '../../model/report.ts'
import { reportedError } from '../../errors/errors.ts'
import type { Published } from '../../copies/publish-plan.ts'
import { exitCodeOfAll, oneExitCode, type ExitCode } from '../exit-code.ts'

/**
 * The warning after every sync while removals wait for a decision: their number, and the commands that decide. Empty if none
 * wait; `undefined` means that the look-up failed. `config` is the configuration file as the user named it.
 */
export function heldWarning(held: readonly HeldRemovals[] | undefined, config: string | undefined): string {
  const option = configOption(config)
  if (held === undefined)
    return `\nCould not look up whether removals are held back. To look again: customer-mirror removals list${option}\n`
  return held.map((each) => oneWarning(each, option)).join('')
}

function oneWarning({ organization, held, runId }: HeldRemovals, option: string): string {
  return `
${organization}: ${count(held, 'removal')} ${held === 1 ? 'is' : 'are'} held back by run ${runId}, until you decide.
Those customers stay unchanged. Ask the service owner whether they are gone.
  why, and how many    customer-mirror runs show ${runId}${option}
  who they are         customer-mirror removals show ${organization}${option}
${decisionLines(organization, option).join('\n')}
`
}

/** The commands that decide about held removals of an organization. */
export function decisionLines(organization: string, option: string): string[] {
  return [
    `  they are gone        customer-mirror removals approve ${organization}${option}`,
    `  they are not         customer-mirror removals discard ${organization}${option}`,
  ]
}

/** What to do about runs that found fields of many customers changed. */
export function shapeWarning(reports: readonly Report[], config: string | undefined): string {
  const option = configOption(config)
  return reports
    .filter(({ reasons }) => reasons.includes('shape-changed'))
    .map(
      ({ organization, runId }) => `
${organization}: fields of many customers have changed, and what is stored is kept.
  which, and how many  customer-mirror runs show ${runId ?? ''}${option}
  take it as it comes  customer-mirror accept ${organization}${option}
`,
    )
    .join('')
}

/** What each quick run found, in one line: `acme: 2 new, 1 missing; 996 of 1,003 pages trusted without reading`. */
export function quickText(reports: readonly Report[]): string {
  return quickRunsIn(reports)
    .map((report) => `${report.organization}: ${whatItFound(report)}\n`)
    .join('')
}

function whatItFound(report: Report): string {
  if (report.reasons.includes('no-order')) return 'nothing was read: the order of its list is not known yet'
  const { inserted, missing, updated, held, rejected, pages, trustedPages = 0 } = report
  const counts = countsOf([
    [inserted, 'new'],
    [missing, 'missing'],
    [updated, 'changed'],
    [rejected, 'rejected'],
    [held, 'absent at once, too many to be marked as missing'],
  ])
  const trusted = `${grouped(trustedPages)} of ${count(trustedPages + pages, 'page')} trusted without reading`
  const nothing = report.reasons.includes('not-confirmed') ? 'none confirmed as missing' : 'none missing'
  return `${counts.length === 0 ? `nothing new, ${nothing}` : counts.join(', ')}; ${trusted}`
}

/** What to do about quick runs that could not find out everything. Each block begins with an empty line. */
export function quickAdvice(reports: readonly Report[], config: string | undefined): string {
  const runs = quickRunsIn(reports)
  const unknown = runs.filter(({ reasons }) => reasons.includes('no-order'))
  const stopped = runs.filter(({ reasons }) => reasons.includes('quick-budget'))
  const commands = unknown.map(({ organization }) => `  customer-mirror sync ${organization}${configOption(config)}\n`)
  return [
    ...(unknown.length === 0
      ? []
      : [
          `\nA quick run goes by the order in which a full run last read the list. Make a full run first:\n`,
          ...commands,
        ]),
    ...stopped.map(
      ({ organization, requests }) =>
        `\n${organization}: the quick run stopped at its limit, after ${count(requests, 'request')}. What it found is saved, the ` +
        'next one goes on from there, and a full run finds everything.\n',
    ),
  ].join('')
}

function quickRunsIn(reports: readonly Report[]): Report[] {
  return reports.filter(({ status }) => status === 'partial')
}

/**
 * What to do about an organization that is no longer mirrored, and whose customers are active all the same. `config`: the file that the
 * user named.
 */
export function leftBehindText(
  { organization, active }: { organization: string; active: number },
  config: string | undefined,
): string {
  const command = (verb: string, words: string) =>
    `  customer-mirror organizations ${verb} ${words}${configOption(config)}\n`
  return (
    `\n${organization} is not in the configuration, and its ${count(active, 'customer')} still count as active. If it left:\n` +
    `${command('retire', organization)}If it has a new id:\n${command('rename', `${organization} NEW-ID`)}`
  )
}

/** What was published, a line for each copy, and the organizations that are in none. */
export function publishedText({ copies, leftOut, parquet, bucket }: Published): string {
  const lines = copies.map(({ file, organizations }) => {
    const customers = organizations.reduce((sum, organization) => sum + organization.customers, 0)
    const of = organizations.length === 1 ? organizations[0]?.organization : count(organizations.length, 'organization')
    return `Copy for readers: ${file} (${of ?? ''}, ${count(customers, 'customer')})\n`
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
  const customers = organizations.reduce((sum, organization) => sum + organization.customers, 0)
  const written = made === 0 ? 'no object was out of date' : `${count(made, 'object')} written`
  return [
    `${what} for readers: ${to} (${count(organizations.length, 'organization')}, ${count(customers, 'customer')}; ${written})\n`,
    ...gone.map((organization) => `No longer there: ${organization}\n`),
  ]
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
