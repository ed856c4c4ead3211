import type { Organization } from '../../config/organization.ts'
import type { Outcome } from '../../mirror-organization.ts'
import type { Report } from '../../report.ts'
import { explainFailure } from './explain-failure.ts'
import { wrapText } from './fit-text.ts'
import { configOption } from './shell-word.ts'
import { count, differentCustomers, moment } from './wording.ts'

/** What blocks need to know beside the outcomes. */
export type BlockSettings = {
  organizations: readonly Pick<Organization, 'id' | 'scan' | 'resumeWithinMs'>[]
  /** Columns of the terminal; without one, lines are as long as they are. */
  columns: number | undefined
  dryRun: boolean
  /** The configuration file as the user named it, for the commands that are shown. */
  config: string | undefined
}

/**
 * One block for each organization that was not mirrored to its end: its name, the cause, what to do about it, and the command
 * that shows its run. Empty when all were; otherwise it begins with an empty line.
 */
export function failureBlocks(outcomes: readonly Outcome[], settings: BlockSettings): string {
  return outcomes
    .filter(({ error }) => error !== undefined)
    .map((outcome) => `\n${blockOf(outcome, settings).join('\n')}\n`)
    .join('')
}

function blockOf({ report, error }: Outcome, settings: BlockSettings): string[] {
  const { organization } = report
  const isStopped = report.status === 'interrupted'
  const isAsked = report.error?.code === 'interrupted'
  const { title, fix } = explainFailure(error)
  const body = [
    ...(isAsked ? [] : causeOf(report)),
    isStopped ? whatIsLeft(report, settings) : `fix: ${fix.replaceAll('<organization>', organization)}`,
  ]
  return [
    ...indented(`${isStopped ? '■' : '✖'} ${organization}: ${isAsked ? 'stopped' : title}`, settings, ''),
    ...body.flatMap((text) => indented(text, settings, '  ')),
    ...showCommand(report, settings),
  ]
}

/** The message without the name it begins with, which stands above it. A configuration may have several mistakes. */
function causeOf({ organization, error }: Report): string[] {
  const message = error?.message ?? ''
  const text = message.startsWith(`${organization}: `) ? message.slice(organization.length + 2) : message
  return text.split('\n')
}

/** What a stop leaves, and what the next run makes of it. */
function whatIsLeft(report: Report, { organizations, dryRun }: BlockSettings): string {
  const read = report.readBefore + differentCustomers(report)
  // It never became a run of the mirror, or how far that came is not known here.
  if (report.runId === undefined) return causeOf(report).join(' ')
  if (dryRun) return 'It was a dry run: nothing was saved.'
  if (read === 0) return 'Nothing had been read yet; the next sync starts at the first page.'
  const saved = `What was read, ${count(read, 'customer')}, is saved; the next sync`
  const settings = organizations.find(({ id }) => id === report.organization)
  if (settings?.scan === 'plain') return `${saved} reads the list from its start, as every plain scan does.`
  // A run that took all the time it may is gone on with from its end, however long ago its scan began.
  const sinceMs = report.error?.code === 'max-run' ? report.finishedAtMs : report.dataAsOfMs
  if (settings === undefined || sinceMs === undefined) return `${saved} goes on from here.`
  return `${saved} goes on from here, when it starts before ${moment(sinceMs + settings.resumeWithinMs)}.`
}

/**
 * On a line of its own, whole, so that it can be copied. A dry run, or one that never began, is in no mirror, and one whose mirror
 * was replaced is not in the one that is there now.
 */
function showCommand({ runId, error }: Report, { dryRun, config }: BlockSettings): string[] {
  if (runId === undefined || dryRun || error?.code === 'mirror-replaced') return []
  return [`  customer-mirror runs show ${runId}${configOption(config)}`]
}

function indented(text: string, { columns = Number.POSITIVE_INFINITY }: BlockSettings, indent: string): string[] {
  return wrapText(text, Math.max(20, columns - indent.length)).map((line) => indent + line)
}
