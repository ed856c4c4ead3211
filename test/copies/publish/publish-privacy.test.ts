import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { PUBLIC_TABLES } from '../../../src/model/public-tables.ts'
import { quoted } from '../../../src/source/refusal.ts'
import { night } from '../../store/nights.ts'
import { aCustomer, customerId } from '../../support/builders.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { aMirrorOfNights, aPlan, aSplitPlan, publishAll } from '../../support/publishing.ts'
import { requireHidden } from '../../../src/copies/publish.ts'
import { isHiddenBy } from '../../../src/privacy/hidden-values.ts'

const PERSONAL = ['name', 'username', 'email', 'phone', 'address', 'company_name'] as const

/** Every byte of every file in the folder of a copy, as text in which a value is found whatever table it is in. */
function bytesAround(file: string): string {
  const folder = dirname(file)
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name)).toString('latin1'))
    .join('\n')
}

test('without personal data no byte of the copy holds a value that was planted in a personal field, a change, a reject, an extra or a refusal of the service', async () => {
  const mirror = await aMirror()
  const planted = (count: number) => ({
    ...Object.fromEntries(PERSONAL.map((field) => [field, `planted-${field}-${count}`])),
    shoe_size: `planted-extra-${count}`,
    planted_field: count,
  })
  for (const [count, language] of ['en', 'fr'].entries())
    await night(mirror, count, [
      aCustomer(1, { ...planted(count), language }),
      { id: 'planted-id', name: 'planted-reject', email: { planted: 'planted-object' } },
    ])
  const body = { success: false, error: 'no_plan', message: 'planted "Ann" (+49 30 5550100) may not "list"' }
  const message = `GET https://acme.test/customers answered 403${quoted(JSON.stringify(body), [])}. Ask the service.`
  expect(message).toContain('5550100')
  tamper(mirror.file, `UPDATE runs SET error = '${message}', error_code = 'forbidden' WHERE id = 1`)
  tamper(mirror.file, `UPDATE runs SET error = 'The disk is full.', error_code = 'full' WHERE id = 2`)
  const plan = aPlan(mirror.file, { withoutPersonalData: true, keep: 2 })
  for (let copy = 0; copy < 2; copy += 1) publishAll(plan)

  expect(bytesAround(mirror.file)).toContain('planted-email-0')
  expect(bytesAround(plan.file)).not.toMatch(/planted|5550100/)
  expect(valueOf(plan.file, 'SELECT fields FROM changes')).toBe('{"language":["en","fr"]}')
  expect(rowsOf(plan.file, 'SELECT * FROM customers')).toMatchObject([{ id: customerId(1), language: 'fr' }])
  expect(rowsOf(plan.file, 'SELECT error, error_code FROM runs ORDER BY id')).toEqual([
    { error: 'GET https://acme.test/customers answered 403 (no_plan: "…', error_code: 'forbidden' },
    { error: 'The disk is full.', error_code: 'full' },
  ])
})

test('without personal data there is no column that the dictionary calls personal, and no rejects', async () => {
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

test('a copy for each organization holds its own rows and nothing else, in no byte', async () => {
  const mirror = await aMirror()
  const organizations = ['a', 'a-b', 'a.b']
  for (const [index, organization] of organizations.entries()) {
    const mark = `of<${organization}>`
    const rejected = { id: mark, name: 'rejected' }
    for (const n of [0, 1])
      await night(mirror, n, [aCustomer(index + 1, { name: `${mark}${n}`, shoe: mark }), rejected], { organization })
  }
  const plan = aSplitPlan(mirror.file, { organizations: [...organizations, 'hooli'] })
  const { copies, leftOut } = publishAll(plan)

  expect(leftOut).toEqual([{ organization: 'hooli', reason: 'never-read' }])
  expect(copies.map(({ file }) => basename(file))).toEqual(organizations.map((id) => `readers-${id}.db`))
  for (const [index, { file }] of copies.entries()) {
    const bytes = readFileSync(file, 'latin1')
    const organization = organizations[index]
    expect(organizations.filter((each) => bytes.includes(`of<${each}>`))).toEqual([organization])
    for (const table of ['manifest', 'freshness', 'runs', 'customers', 'changes', 'rejects'])
      expect(rowsOf(file, `SELECT DISTINCT organization FROM ${table}`), table).toEqual([{ organization }])
  }
  expect(bytesAround(plan.file)).not.toContain('hooli')
})

test('a copy for each organization is not made for a name that could lead elsewhere, which only a mirror edited by hand has', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, [aCustomer(1)], { organization: '../../escape' })

  expect(() => publishAll(aSplitPlan(mirror.file))).toThrow(/whose name is no file name/)
})

const STORED = { drop: ['address', 'extra'], hash: ['phone'], mixed: ['email'], keyCheck: 'of a key' }

test.each([
  ['the same fields', { drop: ['address'], hash: ['phone'] }, true],
  ['nothing', { drop: [], hash: [] }, true],
  ['a field of what is dropped as a whole', { drop: ['extra.vat'], hash: [] }, true],
  ['a hash of what is dropped', { drop: [], hash: ['address'] }, true],
  ['a field that is stored as sent', { drop: ['name'], hash: [] }, false],
  ['a hash of one that is stored as sent', { drop: [], hash: ['name'] }, false],
  ['nothing of what is hashed', { drop: ['phone'], hash: [] }, false],
  ['a field that is hidden in part', { drop: [], hash: ['email'] }, false],
])('whether stored values show what is hidden, which is %s', (_, wanted, isHidden) => {
  expect(isHiddenBy(STORED, wanted)).toBe(isHidden)
})

test('a copy is refused only for organizations that are in it and show what is to be hidden, also while they are rewritten', async () => {
  const mirror = await aMirrorOfNights()
  const hiding = (field: string) => ({ drop: [field], hash: [] })
  const hidden = JSON.stringify({ ...hiding('phone'), mixed: [], keyCheck: null })
  const publishing = (asked: Parameters<typeof requireHidden>[0]['hidden']) => requireHidden({ hidden: asked }, mirror)
  const stored = `INSERT OR REPLACE INTO privacy_policies (organization, policy, next_policy) VALUES ('acme', ?, ?)`
  const hide = (next: string | null) => tamper(mirror, stored, hidden, next)

  await expect(publishing({ 'new-here': hiding('phone') })).resolves.toBeUndefined()
  await expect(publishing(undefined)).resolves.toBeUndefined()
  await expect(publishing({ acme: hiding('phone'), globex: hiding('name') })).rejects.toMatchObject({
    code: 'unhidden',
    message: expect.stringContaining('of acme, globex. Nothing was published'),
  })
  hide(null)
  await expect(publishing({ acme: hiding('phone') })).resolves.toBeUndefined()
  hide(hidden)
  await expect(publishing({ acme: hiding('phone') })).rejects.toMatchObject({ code: 'unhidden' })
})
