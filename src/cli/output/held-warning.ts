import type { HeldRemovals } from '../../store.ts'
import { configOption, count } from './wording.ts'

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
  they are gone        customer-mirror removals approve ${runId}${option}
  they are not         customer-mirror removals discard ${runId}${option}
`
}
