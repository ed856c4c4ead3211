import { factsOf } from '../../errors/errors.ts'
import type { Organization } from '../../config/organization.ts'
import { factsOfCode, type Origin } from '../../errors/error-facts.ts'
import type { Outcome } from '../../sync/mirror-organization.ts'
import type { Report } from '../../model/report.ts'
import { listedNames } from '../../text/wording.ts'
import { differentCustomers } from './run-words.ts'
import { configOption, count, moment } from './wording.ts'

/** The settings of the blocks. */
export type BlockSettings = {
  organizations: readonly Pick<Organization, 'id' | 'scan' | 'resumeWithinMs'>[]
  dryRun: boolean
  /** The configuration file as the user named it, for the commands shown. */
  config: string | undefined
}

/**
 * One block for each organization that failed or was stopped: its name, the cause, what to do, and the command that shows
 * its run. Organizations that failed alike share one, which counts them. Each block begins with an empty line.
 */
export function failureBlocks(outcomes: readonly Outcome[], settings: BlockSettings): string {
  const groups = new Map<string, Failed[]>()
  for (const { report, error } of outcomes) {
    if (error === undefined) continue
    const { title, fix } = factsOf(error)
    const isStopped = report.status === 'interrupted'
    const body = isStopped ? whatIsLeft(report, settings) : `fix: ${fix}`
    const key = JSON.stringify([isStopped, title, body])
    groups.set(key, [...(groups.get(key) ?? []), { report, title, body }])
  }
  return [...groups.values()].map((alike) => `\n${blockOf(alike, settings).join('\n')}\n`).join('')
}

type Failed = { report: Report; title: string; body: string }

function blockOf(alike: readonly Failed[], settings: BlockSettings): string[] {
  const [first] = alike
  if (first === undefined) return []
  const { report, title, body } = first
  const isAsked = originOf(report) === 'stop'
  const names = alike.map((each) => each.report.organization)
  const isAlone = names.length === 1
  // The causes of the others differ in names and addresses alone.
  const causes = isAlone ? causeOf(report) : [`${report.organization}: ${causeOf(report).join(' ')}`]
  const fix = isAlone ? body.replaceAll('<organization>', report.organization) : body
  const mark = report.status === 'interrupted' ? '■' : '✖'
  return [
    `${mark} ${groupTitle(names, isAsked ? 'stopped' : title)}`,
    ...(isAsked ? [] : causes.map((text) => `  ${text}`)),
    `  ${fix}`,
    ...showCommand(report, settings),
  ]
}

/** `acme: bad key`, or `20 organizations: bad key (acme, globex, …)`. */
export function groupTitle(organizations: readonly string[], title: string): string {
  const [only = '', ...others] = organizations
  if (others.length === 0) return `${only}: ${title}`
  return `${count(organizations.length, 'organization')}: ${title} (${listedNames(organizations)})`
}

/** The message in lines, without the organization's name, which is shown above it. */
function causeOf({ organization, error }: Report): string[] {
  const message = error?.message ?? ''
  const text = message.startsWith(`${organization}: `) ? message.slice(organization.length + 2) : message
  return text.split('\n')
}

/** What was saved before a stop, and where the next run starts. */
function whatIsLeft(report: Report, { organizations, dryRun }: BlockSettings): string {
  const read = report.readBefore + differentCustomers(report)
  // The run was not stored, or its progress is unknown.
  if (report.runId === undefined) return causeOf(report).join(' ')
  if (dryRun) return 'It was a dry run: nothing was saved.'
  if (read === 0) return 'Nothing had been read yet; the next sync starts at the first page.'
  const saved = `${count(read, 'customer')} read so far ${read === 1 ? 'is' : 'are'} saved; the next sync`
  const settings = organizations.find(({ id }) => id === report.organization)
  if (settings?.scan === 'plain') return `${saved} reads the list from its start, as every plain scan does.`
  // After a limit, the time to resume counts from the run's end, not from the start of its scan.
  const sinceMs = originOf(report) === 'limit' ? report.finishedAtMs : report.readAsOfMs
  if (settings === undefined || sinceMs === undefined) return `${saved} continues from here.`
  return `${saved} continues from here, if it starts before ${moment(sinceMs + settings.resumeWithinMs)}.`
}

function originOf({ error }: Report): Origin {
  return factsOfCode(error?.code ?? 'unexpected').from
}

/**
 * The command, whole on one line, so that it can be copied. None for runs that the mirror does not have: a dry run, a run that
 * never began, and a run whose mirror was replaced.
 */
function showCommand({ runId, error }: Report, { dryRun, config }: BlockSettings): string[] {
  if (runId === undefined || dryRun || error?.code === 'replaced') return []
  return [`  customer-mirror runs show ${runId}${configOption(config)}`]
}
