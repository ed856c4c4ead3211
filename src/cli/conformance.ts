import { count, duration, say, show } from './output/print.ts'
import { type Io, jsonCommand } from './command.ts'
import { CLOCKS, namedConfig } from './opening.ts'
import { chooseOrganizations } from '../config/organization.ts'
import { judge } from '../conformance/judgements.ts'
import { askService } from '../conformance/questions.ts'
import type { SourceEvent } from '../source/customers.ts'

export function conformanceCommand(io: Io) {
  return jsonCommand('conformance', {
    'conformance acme': 'what the service of acme does where its specification is silent',
    'conformance acme --json': 'the same as JSON',
    about:
      'In at most 40 requests that only read. It ends with 3 where a run proves or removes less than it could, and otherwise with 0.',
  })
    .argument('<organization>', 'id of an organization of the configuration')
    .action(async (id, { config: file, json }) => {
      const [organization] = chooseOrganizations(await namedConfig(file), [id])
      if (organization === undefined) return
      const onEvent = (event: SourceEvent) => {
        if (event.kind === 'waiting' && event.waitMs > 500)
          say(io.stderr, `Waiting for the service, ${duration(event.waitMs)}.\n`)
      }
      const patience = { rateLimits: new Map(), longestWaitMs: organization.maxWaitMs, signal: io.signal }
      const answers = await askService(organization, { ...CLOCKS, ...patience, onEvent })
      const assumptions = judge(answers)
      const { requests } = answers.source.counters
      const rows = assumptions.map((a) => [a.assumption, a.asked, MARKS[a.state], a.found, a.follows ?? ''])
      const text = `\n${count(requests, 'request')}; nothing was written.\n`
      show(io, json, { document: { organization: id, requests, assumptions }, table: { head: HEAD, rows }, text })
      if (assumptions.some(({ state }) => state === 'fails')) io.exitWith(3)
    })
}

const HEAD = ['assumption', 'asked', '', 'found', 'what follows']
const MARKS = { holds: '✔', copes: '!', fails: '✖', unknown: '?' }
