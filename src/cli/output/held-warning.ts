import type { HeldRemovals } from '../../store.ts'
import { configOption } from './shell-word.ts'
import { count } from './wording.ts'

/**
 * The warning after every sync while removals wait for a decision: how many, and the commands that decide. Empty when none wait;
 * `undefined` stands for removals that could not be looked up. `config` is the configuration file as the user named it.
 */
export function heldWarning(held: readonly HeldRemovals[] | undefined, config: string | undefined): string {
  const option = configOption(config)
  if (held === undefined)
    return `\nThe mirror could not be asked whether removals are held back: customer-mirror removals${option}\n`
  return held.map((each) => oneWarning(each, option)).join('')
}

function oneWarning({ organization, held, runId }: HeldRemovals, option: string): string {
  return `
${organization}: ${count(held, 'removal')} ${held === 1 ? 'is' : 'are'} held back by run ${runId}, until you decide.
Those customers stay as they are. Ask the service whether they are gone.
  why, and how many    customer-mirror runs show ${runId}${option}
  they are gone        customer-mirror removals approve ${runId}${option}
  they are not         customer-mirror removals discard ${runId}${option}
`
}
