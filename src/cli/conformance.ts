import { chooseOrganizations } from '../config/organization.ts'
import { type Finding, judge } from '../conformance/judgements.ts'
import { askService } from '../conformance/questions.ts'
import { monotonicMs } from '../machine/timers.ts'
import { openConfiguredSource } from '../sync/run-organization.ts'
import { command, JSON_OPTION, namedConfig, show } from './command.ts'
import { type Io, screenOf } from './io.ts'
import { count, duration, say } from './output/say.ts'
import { renderTable } from './output/table.ts'

/** `customer-mirror conformance`: asks a service which of our assumptions hold, and what follows for its configuration. */
export function conformanceCommand(io: Io) {
  return command('conformance', EXAMPLES)
    .argument('<organization>', 'id of an organization of the configuration')
    .option(...JSON_OPTION)
    .action(async (id, { config: file, json }) => {
      for (const organization of chooseOrganizations(await namedConfig(file), [id])) {
        const { pageSize, maxWaitMs: longestWaitMs } = organization
        const settings = { rateLimits: new Map(), longestWaitMs, now: Date.now, monotonicMs, random: Math.random }
        const open: Parameters<typeof askService>[0] = (onAnswer) =>
          openConfiguredSource(organization, {
            ...{ ...settings, onAnswer },
            onEvent: (event) => {
              if (event.kind === 'waiting' && event.waitMs >= 1000)
                say(io.stderr, `Waiting for the service, ${duration(event.waitMs)}.\n`)
            },
          })
        const answers = await askService(open, { pageSize, random: Math.random, signal: io.signal })
        const assumptions = judge(answers)
        const { requests } = answers.source.counters
        const table = `${tableOf(assumptions, io)}\n${count(requests, 'request')}; nothing was written.\n`
        show(io, json, { document: { organization: id, requests, assumptions }, table })
        if (assumptions.some(({ state }) => state === 'fails')) io.exitWith(3)
      }
    })
}

const EXAMPLES = `
In at most 40 requests that only read. It ends with 3 where a run proves or removes less than it could, and otherwise with 0.

Examples:
  $ customer-mirror conformance acme
      what the service of acme does where its specification is silent
  $ customer-mirror conformance acme --json
      the same as JSON
`

function tableOf(assumptions: readonly Finding[], { stdout }: Pick<Io, 'stdout'>): string {
  return renderTable(
    ['assumption', 'asked', '', 'found', 'what follows'],
    assumptions.map(({ assumption, asked, state, found, follows }) => [
      ...[assumption, asked, MARKS[state], found, follows ?? ''],
    ]),
    screenOf(stdout),
  )
}

const MARKS = { holds: '✔', copes: '!', fails: '✖', unknown: '?' }
