import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { mirrorOrganization, openMirror, readConfig } from '../src/library.ts'
import { aMirrorOf, night, prune } from './store/nights.ts'
import { aCustomer, customerId, customers } from './support/builders.ts'
import { LIBRARY_EXAMPLE } from './support/documents.ts'
import { sqliteAlone } from './support/mirror-choice.ts'
import { ROOT } from './support/package-checkout.ts'
import { aPlan, publishAll } from './support/publishing.ts'
import { temporaryFolder } from './support/mirror-file.ts'
import { aSandbox, aWorkplace, organizationsOf } from './support/workplace.ts'

/** Acme over three nights: customer 1 gets another name, 2 leaves, 4 comes. */
async function threeNights() {
  const later = [aCustomer(1, { name: 'Zoé' }), ...customers(3, 30)]
  const mirror = await aMirrorOf(customers(1, 30), later, [...later, aCustomer(31)])
  await night(mirror, 0, [aCustomer(2, { name: 'Of Globex' })], { organization: 'globex' })
  return mirror
}

test('a program reads customers, one customer, changes and rows, by the names of the columns', async () => {
  const { file } = await threeNights()
  const mirror = await openMirror(file)
  const idsOf = async (...asked: Parameters<typeof mirror.customers>) =>
    (await Array.fromAsync(mirror.customers(...asked))).map(({ organization, id }) => `${organization} ${id}`)

  expect(await idsOf()).toHaveLength(31)
  expect(await idsOf({ organization: 'globex' })).toEqual([`globex ${customerId(2)}`])
  expect(await idsOf({ search: 'zoé' })).toEqual([`acme ${customerId(1)}`])
  const found = await idsOf({ organization: 'acme', search: 'customer 2', includeRemoved: true })
  expect(found).toContain(`acme ${customerId(2)}`)
  expect(await mirror.customer('acme', customerId(2).toUpperCase())).toMatchObject({
    ...{ id: customerId(2), name: 'Customer 2', is_active: false, extra: null },
    removed_at: '2026-01-07 02:00:00.000',
  })
  expect(await mirror.customer('acme', 'no id')).toBeUndefined()
  const changes = await Array.fromAsync(mirror.changes({ since: 0, organization: 'acme' }))
  expect(changes.map(({ id, change, fields }) => [id, change, fields])).toEqual([
    [customerId(1), 'changed', { name: ['Customer 1', 'Zoé'] }],
    [customerId(31), 'added', null],
    [customerId(2), 'removed', null],
  ])
  expect(await Array.fromAsync(mirror.changes({ since: changes.at(-1)?.seq ?? 0 }))).toEqual([])
  expect(await Array.fromAsync(mirror.rows('SELECT organization, active FROM freshness ORDER BY 1'))).toEqual([
    { organization: 'acme', active: 30 },
    { organization: 'globex', active: 1 },
  ])
})

test('a search finds a name in any case, composed or not, with or without accents', async () => {
  const names = ['Zoé', 'Zoe\u0301', 'Zoe Plain', 'İpek Işık', 'Şule', 'Weiß & Søn', 'ΟΔΥΣΣΕΥΣ', '花子']
  const list = names.map((name, at) => aCustomer(at + 1, { name, username: null, email: null }))
  const { file } = await aMirrorOf(list)
  const mirror = await openMirror(file)
  const finds: Record<string, number[]> = {
    ...{ zoé: [0, 1, 2], 'ZOE\u0301': [0, 1, 2], zoe: [0, 1, 2], 'ipek ISIK': [3], ışık: [3], sule: [4], şU: [4] },
    ...{ 'weiss & son': [5], οδυσσεύς: [6], 花: [7], 'o%_': [], '*': [], "' OR 1=1 --": [] },
  }
  for (const [search, found] of Object.entries(finds)) {
    const namesFound = await Array.fromAsync(mirror.customers({ search }), ({ name }) => name)
    expect({ search, namesFound }).toEqual({ search, namesFound: found.map((at) => names[at]) })
  }
})

test('the library reports that unread changes are no longer kept, and that a name is misspelled', async () => {
  const open = await threeNights()
  const mirror = await openMirror(open.file)
  await prune(open, { changesMs: 1 }, 9)
  const read = (since: number, organization?: string) =>
    Array.fromAsync(mirror.changes({ since, ...(organization !== undefined && { organization }) }))

  await expect(read(0)).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('were deleted') })
  await expect(read(4)).rejects.toThrow('There is no change 4 yet: the last one is 3.')
  expect(await read(3)).toEqual([])
  await expect(read(-1)).rejects.toMatchObject({ code: 'usage' })
  await expect(read(3, 'acne')).rejects.toThrow('did you mean "acme"?')
  await expect(mirror.customer('acne', customerId(1))).rejects.toThrow('did you mean "acme"?')
  await expect(Array.fromAsync(mirror.rows('DELETE FROM customers'))).rejects.toMatchObject({ code: 'usage' })
  await expect(openMirror(join(temporaryFolder(), 'none.db'))).rejects.toMatchObject({ code: 'missing' })
})

test.skipIf(sqliteAlone.readersOfTheFile)('a copy without personal data is read, and lacks it', async () => {
  const plan = aPlan((await threeNights()).file, { withoutPersonalData: true })
  publishAll(plan)
  const copy = await openMirror(plan.file)
  const [first] = await Array.fromAsync(copy.customers())

  expect(first).toMatchObject({ id: customerId(1), name: null, email: null, language: 'en' })
  const changes = await Array.fromAsync(copy.changes({ since: 0 }))
  expect(changes).toMatchObject([{ change: 'changed', fields: null }, {}, {}])
})

test('a program mirrors an organization as sync does; a run that fails is a report', async () => {
  const organizations = organizationsOf(await aSandbox({ customers: [120] }))
  const good = await readConfig(aWorkplace(organizations).config)
  const wrong = await readConfig(aWorkplace(organizations.map((each) => ({ ...each, secret: 'wrong' }))).config)

  expect(await mirrorOrganization(good, 'acme')).toMatchObject({ status: 'complete', inserted: 120, error: null })
  expect(await mirrorOrganization(wrong, 'acme')).toMatchObject({ status: 'failed', error: { code: 'unauthorized' } })
  const { status } = await mirrorOrganization(good, 'acme', { signal: AbortSignal.abort() })
  expect(status).toBe('interrupted')
  await expect(mirrorOrganization(good, 'acne')).rejects.toThrow('did you mean "acme"?')
})

test('the example of the page is twenty lines, and runs', async () => {
  const { folder, config } = aWorkplace(organizationsOf(await aSandbox({ customers: [120] })))
  const installed = join(folder, 'node_modules', '@customer-mirror', 'cli')
  mkdirSync(installed, { recursive: true })
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ type: 'module', exports: './library.js' }))
  writeFileSync(join(installed, 'library.js'), `export * from ${JSON.stringify(join(ROOT, 'src/library.ts'))}\n`)
  writeFileSync(join(folder, 'example.mjs'), LIBRARY_EXAMPLE.replace('customer-mirror.yaml', config))
  const said = vi.spyOn(console, 'log').mockReturnValue()
  onTestFinished(() => said.mockRestore())
  await import(join(folder, 'example.mjs'))

  expect(LIBRARY_EXAMPLE.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
  expect(said.mock.calls.map((words) => words.map(String).join(' ')).join('\n')).toMatch(
    /^acme: complete, unproven, \d+ new, 0 removed\n(.+ .+@.+\n)+acme null 120$/,
  )
})
