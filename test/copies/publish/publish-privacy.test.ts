import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PUBLIC_TABLES } from '../../../src/model/public-tables.ts'
import { quoted } from '../../../src/source/refusal.ts'
import { DAY_MS, night } from '../../store/nights.ts'
import { aCustomer, aPage, anEnding, customerId, START_MS } from '../../support/builders.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { aMirrorOfNights, aPlan, aSplitPlan, publishAll } from '../../support/publishing.ts'
import { seeds } from '../../support/seeds.ts'

const PERSONAL = ['name', 'username', 'email', 'phone', 'address', 'company_name'] as const

/** Every byte of every file in the folder of a copy, as text in which a value is found whatever table it is in. */
function bytesAround(file: string): string {
  const folder = dirname(file)
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name)).toString('latin1'))
    .join('\n')
}

/** How a value stands in a file: in a column, and within JSON. */
function formsOf(value: string): string[] {
  return [value, JSON.stringify(value).slice(1, -1)].map((text) => Buffer.from(text).toString('latin1'))
}

describe('without personal data', () => {
  test('no byte of the copy holds a value that was planted in a personal field, a change, a reject or an extra', async () => {
    const mirror = await aMirror()
    const planted = (count: number) => ({
      ...Object.fromEntries(PERSONAL.map((field) => [field, `planted-${field}-${count}`])),
      shoe_size: `planted-extra-${count}`,
      planted_field: count,
    })
    for (const [count, language] of ['en', 'fr', 'en'].entries())
      await night(mirror, count, [
        aCustomer(1, { ...planted(count), language }),
        { id: 'planted-id', name: 'planted-reject', email: { planted: 'planted-object' } },
      ])
    const plan = aPlan(mirror.file, { withoutPersonalData: true, keep: 2 })
    for (let copy = 0; copy < 3; copy += 1) publishAll(plan)

    expect(bytesAround(mirror.file)).toContain('planted-email-0')
    expect(bytesAround(plan.file)).not.toContain('planted')
    expect(rowsOf(plan.file, 'SELECT fields FROM changes ORDER BY seq').map(({ fields }) => fields)).toEqual([
      '{"language":["en","fr"]}',
      '{"language":["fr","en"]}',
    ])
    expect(rowsOf(plan.file, 'SELECT * FROM customers')).toMatchObject([{ id: customerId(1), language: 'en' }])
  })

  test('there is no column that the dictionary calls personal, and no rejects', async () => {
    const mirror = await aMirrorOfNights()
    const { file } = publishAll(aPlan(mirror, { withoutPersonalData: true })).copies[0] ?? { file: '' }

    for (const { name, columns } of PUBLIC_TABLES) {
      const personal = columns.filter((column) => column.personal && `${name}.${column.name}` !== 'changes.fields')
      const shown = rowsOf(file, 'SELECT name FROM pragma_table_info(?)', name).map((row) => row['name'])
      expect(personal.filter((column) => shown.includes(column.name))).toEqual([])
    }
    expect(valueOf(file, `SELECT count(*) FROM sqlite_schema WHERE name = 'rejects'`)).toBe(0)
    expect(rowsOf(file, 'SELECT rejects FROM manifest WHERE rejects <> 0')).toEqual([])
    expect(valueOf(file, 'SELECT open_rejects FROM freshness ORDER BY organization DESC')).toBe(1)
    const changes = 'SELECT seq, change FROM changes ORDER BY seq'
    expect(rowsOf(file, changes)).toEqual(rowsOf(mirror, changes))
  })

  test('what the service said about a refusal is not in the copy, since it may name a person', async () => {
    const mirror = await aMirrorOfNights()
    const body = { success: false, error: 'no_plan', message: 'planted "Ann" (+49 30 5550100) may not "list"' }
    const message = `GET https://acme.test/customers answered 403${quoted(JSON.stringify(body), [])}. Ask the service.`
    tamper(mirror, `UPDATE runs SET error = '${message}', error_code = 'forbidden' WHERE id = 1`)
    tamper(mirror, `UPDATE runs SET error = 'The disk is full.', error_code = 'full' WHERE id = 2`)
    const plan = aPlan(mirror, { withoutPersonalData: true })
    publishAll(plan)

    expect(message).toContain('5550100')
    expect(bytesAround(plan.file)).not.toMatch(/planted|5550100/)
    expect(rowsOf(plan.file, 'SELECT error, error_code FROM runs WHERE id < 3 ORDER BY id')).toEqual([
      { error: 'GET https://acme.test/customers answered 403 (no_plan: "…', error_code: 'forbidden' },
      { error: 'The disk is full.', error_code: 'full' },
    ])
  })

  test('a change that was edited by hand into another form is published without its fields', async () => {
    const mirror = await aMirrorOfNights()
    tamper(mirror, `UPDATE changes SET fields = '{"language":"planted","name":["a","b"]}' WHERE seq = 1`)
    const { file } = publishAll(aPlan(mirror, { withoutPersonalData: true })).copies[0] ?? { file: '' }

    expect(valueOf(file, 'SELECT fields FROM changes WHERE seq = 1')).toBeNull()
  })

  test.each(Array.from({ length: seeds(40, { least: 2, every: 20 }) }, (_, index) => index + 1))(
    'whatever customers enter, none of it is in the copy (seed %d)',
    async (seed) => {
      const mirror = await aMirror()
      const text = fc.string({ minLength: 6, maxLength: 40, unit: 'grapheme' }).map((value) => `⁂${value}`)
      const record = (n: number) =>
        fc
          .record({
            ...Object.fromEntries(PERSONAL.map((field) => [field, text])),
            'loyalty ⁂': fc.oneof(text, fc.json()),
          })
          .map((fields) => aCustomer(n, fields))
      const list = fc.tuple(...[1, 2, 3, 4, 5].map(record))
      for (const [count, records] of fc.sample(list, { seed, numRuns: 3 }).entries())
        await night(mirror, count, [...records, { id: `⁂${count}`, name: records }])
      const plan = aPlan(mirror.file, { withoutPersonalData: true })
      publishAll(plan)

      expect(bytesAround(mirror.file)).toContain(formsOf('⁂')[0])
      expect(bytesAround(plan.file)).not.toContain(formsOf('⁂')[0])
    },
  )
})

describe('a copy for each organization', () => {
  test('holds its own rows and nothing else, in no byte', async () => {
    const mirror = await aMirror()
    const organizations = ['acme', 'globex', 'a', 'a-b', 'a.b']
    for (const [index, organization] of organizations.entries())
      for (const count of [0, 1])
        await night(
          mirror,
          count,
          [
            aCustomer(index * 10 + 1, { name: `of<${organization}>${count}`, shoe: `of<${organization}>` }),
            { id: `of<${organization}>`, name: 'rejected' },
          ],
          { organization },
        )
    const plan = aSplitPlan(mirror.file, { organizations: [...organizations, 'hooli'] })
    const { copies, leftOut } = publishAll(plan)

    expect(leftOut).toEqual([{ organization: 'hooli', reason: 'never-read' }])
    expect(copies.map(({ file }) => file)).toEqual(
      organizations.toSorted().map((organization) => join(dirname(plan.file), `readers-${organization}.db`)),
    )
    for (const [index, organization] of organizations.toSorted().entries()) {
      const { file } = copies[index] ?? { file: '' }
      const bytes = readFileSync(file).toString('latin1')
      expect(bytes).toContain(`of<${organization}>1`)
      for (const other of organizations.filter((each) => each !== organization))
        expect(bytes).not.toContain(`of<${other}>`)
      for (const table of ['manifest', 'freshness', 'runs', 'customers', 'changes', 'rejects'])
        expect(rowsOf(file, `SELECT DISTINCT organization FROM ${table}`), table).toEqual([{ organization }])
    }
    expect(bytesAround(plan.file)).not.toContain('hooli')
  })

  test('together they hold what one copy of all holds', async () => {
    const mirror = await aMirrorOfNights()
    const whole = publishAll(aPlan(mirror)).copies[0]
    const { copies } = publishAll(aSplitPlan(mirror))

    // Each copy has its rows in an order of its own, and so its digests.
    const withoutDigests = (list: readonly { sha256: string }[] = []) => list.map((each) => ({ ...each, sha256: '' }))
    expect(withoutDigests(copies.flatMap(({ organizations }) => organizations))).toEqual(
      withoutDigests(whole?.organizations),
    )
    for (const { name, columns } of PUBLIC_TABLES.filter(({ name: table }) => table !== 'dictionary')) {
      const known = new Set(
        rowsOf(whole?.file ?? '', 'SELECT name FROM pragma_table_info(?)', name).map((row) => row['name']),
      )
      const shown = columns.flatMap((column) =>
        known.has(column.name) && !/age_seconds/.test(column.name) ? [`"${column.name}"`] : [],
      )
      const sql = `SELECT ${shown.join(', ')} FROM ${name} ORDER BY organization, ${shown.join(', ')}`
      expect(
        copies.flatMap(({ file }) => rowsOf(file, sql)),
        name,
      ).toEqual(rowsOf(whole?.file ?? '', sql))
    }
  })

  test('goes where the placeholder stands', async () => {
    const plan = aPlan(await aMirrorOfNights())
    const { copies } = publishAll({ ...plan, file: join(dirname(plan.file), '{organization}', 'x-{organization}.db') })

    expect(copies.map(({ file }) => file)).toEqual([
      join(dirname(plan.file), 'acme', 'x-acme.db'),
      join(dirname(plan.file), 'globex', 'x-globex.db'),
    ])
  })

  test('is not made for a name that could lead elsewhere, which only a mirror edited by hand has', async () => {
    const mirror = await aMirror()
    const run = await mirror.startRun({ organization: '../../escape', trigger: 'sync', nowMs: START_MS })
    await mirror.savePages(run, [aPage(1, [aCustomer(1)])], START_MS)
    await mirror.finishRun(run, anEnding(), START_MS + DAY_MS)

    expect(() => publishAll(aSplitPlan(mirror.file))).toThrow(/whose name is no file name/)
  })
})
