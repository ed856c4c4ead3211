import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { customerId as uuid, START_MS, DAY_MS } from '../support/builders.ts'
import { dice as diceOf } from '../support/dice.ts'
import { aMirror, rowsOf, tamper } from '../support/mirror-file.ts'
import { type Asked, PlayedTime, wireTo } from '../support/played-wire.ts'

const [ONE, TWO] = [uuid(1), uuid(2)]
const [was, now] = [`{"id":"${ONE}","name":"Old"}`, `{"id":"${ONE}","name":"New"}`] as const
const escaped = (record: string) => record.replace(ONE, ONE.replace('0', String.raw`\u0030`))
const noCustomer = `{"id":"${ONE}","name":[]}`

test.each<[what: string, first: string, second: string[]]>([
  ['changed before it is as it was', was, [now, was]],
  ['as it was before it is changed', was, [was, now]],
  ['changed, its id escaped', was, [escaped(now), was]],
  ['escaped both nights', escaped(was), [now, escaped(was)]],
  ['no customer before it is one', noCustomer, [noCustomer, was]],
])('a customer who is twice on a page is read as by one who parses all: %s', async (_, first, second) => {
  const other = was.replace(ONE, TWO)
  const [asSent, plainly] = [await aMirror(), await aMirror()]
  for (const [night, list] of [[first], second, second, [first]].map((some) => [other, ...some]).entries()) {
    const sent = await mirrorOnce(asSent, night, (asked) => bodyOf(list, asked))
    tamper(plainly.file, 'DELETE FROM lists')
    const told = await mirrorOnce(plainly, night, (asked) => JSON.stringify(JSON.parse(bodyOf(list, asked))))
    expect({ night, ...sent, ...contents(asSent) }).toEqual({ night, ...told, ...contents(plainly) })
  }
})

function bodyOf(list: readonly string[], { page, size }: Asked): string {
  const meta = JSON.stringify({ current_page: page, per_page: size, total: list.length })
  return `{"success":true,"data":[${list.slice(size * (page - 1), size * page).join()}],"meta":${meta}}`
}

async function mirrorOnce(mirror: Mirror, night: number, bodyFor: (asked: Asked) => string) {
  const dice = diceOf(1)
  const time = new PlayedTime(START_MS + night * DAY_MS, dice)
  const headers = { 'content-type': 'application/json' }
  const answer = (asked: Asked) => ({ status: 200, headers, body: Buffer.from(bodyFor(asked)) })
  const source = time.openSource({ concurrency: 2, connections: wireTo(answer, () => (time.trueMs += 10), dice) })
  const outcome = await mirrorOrganization({
    ...time.clocks,
    ...{ organization: 'acme', source, mirror, concurrency: 2, pageSize: 8, trigger: 'sync' as const, scan: 'chain' },
    ...{ removals: { after: 1, maxShare: 1 }, resumeWithinMs: -1, signal: new AbortController().signal },
  })
  source.close()
  const { status, proof, reasons, warnings, received, inserted, updated, unchanged } = outcome.report
  const { duplicates, rejected, missing, removed, returned, error } = outcome.report
  const counts = { received, inserted, updated, unchanged, duplicates, rejected, missing, removed, returned }
  return { status, proof, reasons, warnings, error: error?.code, ...counts }
}

function contents({ file }: Mirror) {
  const columns = 'id, name, email, address, created_at, extra, missing_since IS NULL, removed_at IS NULL, last_run_id'
  const rejected = 'run_id, record_id, payload, reasons, resolved_at IS NULL'
  return {
    customers: rowsOf(file, `SELECT ${columns} FROM customers ORDER BY id`),
    changes: rowsOf(file, 'SELECT run_id, id, change, fields FROM changes ORDER BY 1, 2, 3, CAST(fields AS TEXT)'),
    rejects: rowsOf(file, `SELECT ${rejected} FROM rejects ORDER BY 1, 2, 3`),
  }
}
