import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { customerId as uuid, START_MS, DAY_MS } from '../support/builders.ts'
import { type Dice, dice as diceOf } from '../support/dice.ts'
import { aMirror, rowsOf, tamper } from '../support/mirror-file.ts'
import { type Asked, PlayedTime, wireTo } from '../support/played-wire.ts'
import { seeds } from '../support/seeds.ts'

/** Histories of some nights each; a thirtieth of them in `npm test`. */
const HISTORIES = seeds(150, { least: 2, every: 75 })

test('records written to be cut or recognized wrongly give the mirror of the same records written plainly', async () => {
  let complete = 0
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const dice = diceOf(seed)
    const [asSent, plainly] = [await aMirror(), await aMirror()]
    let list = Array.from({ length: 4 + dice.below(20) }, (_, at) => recordOf(at + 1, dice))
    for (let night = 0; night < 4; night += 1) {
      const style = styleOf(dice)
      const order = 1 + dice.below(1000)
      const sent = await mirrorOnce(asSent, night, order, (asked) => bodyOf(list, asked, style))
      tamper(plainly.file, 'DELETE FROM lists')
      const told = await mirrorOnce(plainly, night, order, (asked) => plainBodyOf(list, asked, style))
      expect({ seed, night, ...sent, ...contents(asSent) }).toEqual({ seed, night, ...told, ...contents(plainly) })
      if (sent.status === 'complete') complete += 1
      list = edited(list, dice)
    }
  }
  // Most nights say something about the records, and not only that they were refused.
  expect(complete).toBeGreaterThan(HISTORIES * 2)
})

const [ONE, TWO, OLD, NEW] = [uuid(1), uuid(2), '"name":"Old"', '"name":"New"']
const ESCAPED = ONE.replace('0', String.raw`\u0030`)

test.each<[what: string, first: readonly string[], second: readonly string[]]>([
  ['changed before it is as it was', [`{"id":"${ONE}",${OLD}}`], [`{"id":"${ONE}",${NEW}}`, `{"id":"${ONE}",${OLD}}`]],
  ['as it was before it is changed', [`{"id":"${ONE}",${OLD}}`], [`{"id":"${ONE}",${OLD}}`, `{"id":"${ONE}",${NEW}}`]],
  ['changed, its id escaped', [`{"id":"${ONE}",${OLD}}`], [`{"id":"${ESCAPED}",${NEW}}`, `{"id":"${ONE}",${OLD}}`]],
  ['escaped both nights', [`{"id":"${ESCAPED}",${OLD}}`], [`{"id":"${ONE}",${NEW}}`, `{"id":"${ESCAPED}",${OLD}}`]],
  [
    'no customer before it is one',
    [`{"id":"${ONE}","name":[]}`],
    [`{"id":"${ONE}","name":[]}`, `{"id":"${ONE}",${OLD}}`],
  ],
])('a customer who is twice on a page is read as by one who parses all: %s', async (_, first, second) => {
  const other = `{"id":"${TWO}",${OLD}}`
  const [asSent, plainly] = [await aMirror(), await aMirror()]
  const style = { between: ',', around: '', isMetaFirst: false }
  for (const [night, list] of [first, second, second, first].map((some) => [other, ...some]).entries()) {
    const sent = await mirrorOnce(asSent, night, 1, (asked) => bodyOf(list, asked, style))
    tamper(plainly.file, 'DELETE FROM lists')
    const told = await mirrorOnce(plainly, night, 1, (asked) => plainBodyOf(list, asked, style))
    expect({ night, ...sent, ...contents(asSent) }).toEqual({ night, ...told, ...contents(plainly) })
  }
})

/** Text of one byte a character, as it goes over the wire. */
type Wire = string

const wire = (text: string): Wire => Buffer.from(text).toString('latin1')

/** The record of a customer, written by one who knows how records are recognized. */
function recordOf(n: number, dice: Dice): Wire {
  const id = dice.chance(0.2) ? uuid(n).toUpperCase() : uuid(n)
  const other = uuid(1 + dice.below(30))
  const name = JSON.stringify(`Name ${dice.below(3)}`)
  const usual = `"id":"${id}","name":${name},"email":"c${n}@example.com"`
  const records = [
    `{${usual}}`,
    `{${usual}}`,
    `{${usual}}`,
    `{${usual}}`,
    `{ "id" : "${id}" , "name":\n${name}}`,
    `{"name":"},{","id":"${id}"}`,
    `{"name":${JSON.stringify(`"},{"id":"${other}","name":"x`)},"id":"${id}"}`,
    `{"address":{"id":"${other}"},"id":"${id}"}`,
    `{"extra":{"id":"${other}"},"id":"${id}","name":${name}}`,
    `{"extra":[{"id":"${other}"},{"id":"${id}"}],"id":"${id}","name":${name}}`,
    `{"id":"${id}","name":${name},"id":"${other}"}`,
    `{"id":"${other}","name":${name},"\\u0069d":"${id}"}`,
    `{"\\u0069d":"${id}","extra":{"id":"${other}"}}`,
    `{"name":"id","id":"${id}"}`,
    `{"name":"\\\\","id":"${id}","extra":["}","{","]","["]}`,
    `{"name":"\\"id\\":\\"${other}\\"","id":"${id}"}`,
    `{"__proto__":{"id":"${other}"},"constructor":"x","id":"${id}"}`,
    `{"id":"${id.replace('0', '\\u0030')}","name":${name}}`,
    `{"id":"${other}\\u0000","extra":"${id}"}`,
    `{"id":"${id}","name":"é\\ud800 \u2028 ] } , \u{1f600}"}`,
    `{"id":"${id}","data":[{"id":"${other}"}],"meta":{"current_page":9}}`,
    `{"extra":"],\\"meta\\":{","id":"${id}"}`,
    `{"id":"${other}","name":${name}}`,
    `{"name":${name}}`,
    `null`,
    `[{"id":"${id}"},{"id":"${other}"}]`,
    `"},{"`,
    `{"id":["${id}"],"name":${name}}`,
  ]
  return wire(records[dice.below(records.length)] ?? '')
}

function edited(before: readonly Wire[], dice: Dice): Wire[] {
  const list = [...before]
  for (let edits = dice.below(4); edits > 0; edits -= 1) {
    const at = dice.below(list.length)
    const kind = dice.below(5)
    if (kind === 0) list.splice(at, 0, recordOf(1 + dice.below(30), dice))
    else if (kind === 1) list.splice(at, 1)
    else if (kind === 2) list.splice(at, 1, recordOf(at + 1, dice))
    else if (kind === 3) list.splice(at, 0, list[dice.below(list.length)] ?? 'null')
    else list.splice(dice.below(list.length), 0, ...list.splice(at, 1))
  }
  return list
}

/** How a body is written: the text between records, and in which order its parts come. */
type Style = { between: Wire; around: Wire; isMetaFirst: boolean }

function styleOf(dice: Dice): Style {
  const blanks = ['', '', ' ', '\n', '\r\n\t']
  const blank = () => blanks[dice.below(blanks.length)] ?? ''
  return { between: `${blank()},${blank()}`, around: blank(), isMetaFirst: dice.chance(0.3) }
}

function bodyOf(list: readonly Wire[], { page, size }: Asked, { between, around, isMetaFirst }: Style): Buffer {
  const records = list.slice(size * (page - 1), size * page).join(between)
  const data = `"data":[${around}${records}${around}]`
  const meta = `"meta":${JSON.stringify({ current_page: page, per_page: size, total: list.length })}`
  return Buffer.from(`{"success":true,${isMetaFirst ? `${meta},${data}` : `${data},${meta}`}}`, 'latin1')
}

/** The same records as JSON.stringify writes them. */
function plainBodyOf(list: readonly Wire[], asked: Asked, style: Style): Buffer {
  return Buffer.from(JSON.stringify(JSON.parse(bodyOf(list, asked, style).toString('utf8'))))
}

async function mirrorOnce(mirror: Mirror, night: number, order: number, bodyFor: (asked: Asked) => Buffer) {
  const dice = diceOf(order)
  const time = new PlayedTime(START_MS + night * DAY_MS, dice)
  const headers = { 'content-type': 'application/json' }
  const answer = (asked: Asked) => ({ status: 200, headers, body: bodyFor(asked) })
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
