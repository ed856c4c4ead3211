import {
  certificateOf,
  limitLines,
  newFieldLines,
  positionWords,
  proofLines,
  reasonWords,
  shapeWords,
} from '../../status/proof-words.ts'
import type { StoredRun } from '../../model/mirror.ts'
import { configOption, count, grouped, moment, summary } from './wording.ts'

/**
 * Explains one run: what it did, what its scan proves, and each reason in one sentence. `waiting` is the number of its held
 * removals that still wait for a decision, and `config` the file that the user named.
 */
export function describeRun(
  run: StoredRun,
  { waiting, config }: { waiting: number; config: string | undefined },
): string {
  const lines = [
    `run #${run.runId} of ${run.organization}, ${run.status}, started ${moment(run.startedAtMs)} (${run.trigger})`,
    summary(run),
    ...(run.resumedFrom === undefined ? [] : [`It continued run #${run.resumedFrom}, which had been interrupted.`]),
    ...(run.error === undefined ? [] : [`${run.error.code}: ${run.error.message}`]),
    '',
    ...proofLines(run),
    ...run.reasons.map((reason) => `  ${reason}: ${reasonWords(reason)}`),
    ...noteLines(run),
    ...absenceLines(run, waiting, configOption(config)),
    ...refusedLines(run),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}

function noteLines(run: StoredRun): string[] {
  const certificate = certificateOf(run)
  if (certificate === undefined) return []
  const holes = certificate.holes.map((hole) => `  not read: ${positionWords(hole)}`)
  const shape = (certificate.shape ?? []).map((change) => `  ${shapeWords(change)}`)
  return [...limitLines(run), ...newFieldLines(run), ...shape, ...holes, ...foundLines(certificate.found ?? [])]
}

function refusedLines({ searchesRefused }: StoredRun): string[] {
  if (searchesRefused === 0) return []
  return [
    `${count(searchesRefused, 'search', 'searches')} for absent customers refused by the service, or without an answer: after proven scans ` +
      'these customers are removed all the same, after others they stay missing.',
  ]
}

/** Only the ids, to look up in the service. */
function foundLines(ids: readonly string[]): string[] {
  const more = ids.length - MOST_FOUND
  const lines = ids.slice(0, MOST_FOUND).map((id) => `  found by a search, but not in the list: ${id}`)
  return more > 0 ? [...lines, `  and ${grouped(more)} more, in the certificate (--json)`] : lines
}

const MOST_FOUND = 10

function absenceLines({ held, runId, reasons, status }: StoredRun, waiting: number, option: string): string[] {
  if (held === 0) return []
  if (status === 'partial') {
    return [`${count(held, 'customer')} absent at once, too many to be marked as missing: the next full run decides.`]
  }
  const why = reasons.includes('contradicted')
    ? 'a search of a sample of them found a customer that is listed'
    : 'too many customers were absent at once'
  if (waiting === 0) {
    return [
      `${count(held, 'removal')} held back: ${why}. Nothing is left to decide: they were approved or discarded, their customers were ` +
        'listed again, or a later run held them back.',
    ]
  }
  const left = waiting === held ? '' : ` (${grouped(waiting)} wait for a decision)`
  return [
    `${count(held, 'removal')} held back${left}: ${why}.`,
    `  they are gone        customer-mirror removals approve ${runId}${option}`,
    `  they are not         customer-mirror removals discard ${runId}${option}`,
  ]
}
