import { Command } from '@commander-js/extra-typings'
import { UsageError } from '../errors/errors.ts'
import { moment } from '../wording.ts'
import type { Io } from './io.ts'
import { namedConfig, timeArgument } from './arguments.ts'
import { say } from './output/say.ts'
import { isoOf } from '../time/iso-time.ts'
import { pausedText, resumedText } from './output/pause-text.ts'

/** `customer-mirror pause`: no run of organizations starts until they are resumed. */
export function pauseCommand(io: Io) {
  return new Command('pause')
    .description('hold back the runs of organizations until they are resumed; without a name, of all')
    .argument('[organization...]', 'ids of organizations')
    .option('-c, --config <file>', 'configuration file')
    .option('--until <time>', 'end the pause by itself at this time', timeArgument)
    .addHelpText('after', EXAMPLES)
    .action(async (ids, { config: file, until }) => {
      const nowMs = Date.now()
      const untilMs = until === undefined ? undefined : Date.parse(isoOf(until))
      if (untilMs !== undefined && untilMs <= nowMs)
        throw new UsageError(`--until ${moment(untilMs)} has passed, so nothing was paused. Name a time in the future.`)
      const [config, { chooseIds }] = await Promise.all([namedConfig(file), import('../config/organization.ts')])
      const organizations = chooseIds(config, ids)
      const { pauseOrganizations } = await import('../../jobs/pauses/pause-organizations.ts')
      say(io.stdout, pausedText(await pauseOrganizations(config, organizations, { nowMs, untilMs })))
    })
}

const EXAMPLES = `
Every worker of the queue sees it within seconds. A run under way ends normally; no other one starts, neither by the schedule nor by
'customer-mirror run'. When the pause ends, a run that was missed is made up for once. 'customer-mirror sync' needs no queue, and
is not paused.

Examples:
  $ customer-mirror pause acme --until "2026-12-24 06:00"
      the service is being maintained until six o'clock UTC
  $ customer-mirror pause
      all organizations, until 'customer-mirror resume'
`

/** `customer-mirror resume`: ends the pause of organizations. */
export function resumeCommand(io: Io) {
  return new Command('resume')
    .description('end the pause of organizations; without a name, every pause')
    .argument('[organization...]', 'ids of organizations')
    .option('-c, --config <file>', 'configuration file')
    .addHelpText('after', RESUME_EXAMPLES)
    .action(async (ids, { config: file }) => {
      const [config, { chooseIds }] = await Promise.all([namedConfig(file), import('../config/organization.ts')])
      const organizations = chooseIds(config, ids)
      const { resumeOrganizations } = await import('../../jobs/pauses/pause-organizations.ts')
      say(io.stdout, resumedText(await resumeOrganizations(config, organizations, Date.now())))
    })
}

const RESUME_EXAMPLES = `
A run that was missed meanwhile is made up for at once, one for each organization. An organization that is named is resumed
although all of them are paused; the others stay so.

Examples:
  $ customer-mirror resume acme
  $ customer-mirror resume
      every pause, also those of single organizations
`
