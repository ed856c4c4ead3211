import type { HeldRemovals } from '../../mirror/removals.ts'
import { count } from './wording.ts'

/**
 * What people are told after every sync while removals wait for a decision: how many, and the commands that decide. Empty when
 * none wait; `undefined` stands for removals that could not be looked up.
 */
export function heldWarning(held: readonly HeldRemovals[] | undefined): string {
  if (held === undefined)
    return '\nThe mirror could not be asked whether removals are held back: customer-mirror removals\n'
  return held.map(oneWarning).join('')
}

function oneWarning({ organization, held, runId }: HeldRemovals): string {
  return `
${organization}: ${count(held, 'removal')} ${held === 1 ? 'is' : 'are'} held back by run ${runId}, until you decide.
Those customers stay as they are. Ask the service whether they are gone.
  why, and how many    customer-mirror removals, customer-mirror runs show ${runId}
  they are gone        customer-mirror removals approve ${runId}
  they are not         customer-mirror removals discard ${runId}
`
}
