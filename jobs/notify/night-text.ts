import { factsOfCode } from '../../src/errors/error-facts.ts'
import { count, moment } from '../../src/text/wording.ts'
import { type Ended, type Night, wentWell } from './nights.ts'

/** A night as a message of a chat: who needs a person first, a sentence for each organization with the command to run. Nothing of a customer. */
export function nightText({ dueMs }: Pick<Night, 'dueMs'>, organizations: readonly Ended[]): string {
  const [well, others] = [organizations.filter(isWell), organizations.filter((each) => !isWell(each))]
  const head =
    others.length === 0
      ? `went well for ${count(well.length, 'organization')}`
      : `${others.length} of ${count(organizations.length, 'organization')} did not go well`
  return [`Customer Mirror, night of ${moment(dueMs)}: ${head}.`, ...[...others, ...well].map(sentenceOf)].join('\n')
}

function isWell(ended: Ended): boolean {
  return wentWell([ended])
}

function sentenceOf({ organization, ended, run, heldRemovals }: Ended): string {
  const details = run === undefined ? '' : ` To see more: \`customer-mirror runs show ${run.runId ?? ''}\``
  if (heldRemovals > 0) {
    const held = `${count(heldRemovals, 'removal')} ${heldRemovals === 1 ? 'waits' : 'wait'} for a decision`
    return `• ${organization}: ${held}. Who they are: \`customer-mirror removals show ${organization}\``
  }
  if (run?.reasons.includes('shape-changed') === true)
    return `• ${organization}: fields of many customers have changed, and what is stored is kept.${details}`
  if (ended === 'complete' && run !== undefined)
    return `• ${organization}: complete and ${run.proof}: ${run.inserted} new, ${run.updated} changed, ${run.removed} removed.`
  if (run?.error !== undefined)
    return `• ${organization}: failed: ${factsOfCode(run.error.code).title} (${run.error.code}).${details}`
  return `• ${organization}: ${ended === 'complete' ? 'complete' : 'was not read to its end'}.${details || ' To see why: `customer-mirror status`'}`
}
