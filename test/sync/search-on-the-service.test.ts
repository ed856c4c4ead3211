import { expect, test } from 'vitest'
import type { SandboxOptions } from '../../src/service/sandbox.ts'
import { activeIds, goneIds, syncSandbox } from '../support/mirrored-sandbox.ts'
import { aMirror } from '../support/mirror-file.ts'
import { aSandbox } from '../support/workplace.ts'

test.each([
  ['quotes and signs of a query', `O'Neil & "Søn" (50 %) #1/?=+;`],
  ['another script', '李雷'],
  ['signs beyond the basic plane', 'Zoë 🦊 𝒳'],
  ['an end of a line and a NUL', 'one\r\ntwo\u0000three'],
  ['spaces around it', '  Ann  Lee  '],
  ['percent escapes', '%41%zz%00'],
])('a customer whose name holds %s is searched for by it, and removed once gone', async (_, name) => {
  const { sandbox, mirror, hand, nightly } = await aNight()
  const id = '0a0b0c0d-0000-4000-8000-00000000000f'
  const [first] = hand.customers
  if (first === undefined) throw new Error('The sandbox has no customers')
  const created = hand.customers.at(-1)?.created_at ?? ''
  hand.insert({ ...first, id, name, username: `${name} user`, email: `${name}@example.com`, created_at: created })
  await nightly()
  hand.delete(id)
  await nightly()
  const before = hand.requests.length

  const { report } = await nightly()

  expect(report).toMatchObject({ status: 'complete', proof: 'proven', removed: 1 })
  const searches = hand.requests.slice(before).filter(({ search }) => search !== '')
  const stored = name.replaceAll('\0', '\ufffd')
  expect(searches.map(({ search }) => search)).toEqual(expect.arrayContaining([stored, `${stored}@example.com`]))
  expect(searches.map(({ status }) => status)).toEqual(searches.map(() => 200))
  expect(activeIds(mirror)).toEqual(sandbox.truth('acme').listed())
})

test('a customer in any answer to a search, even for another customer, is named in the run and stays', async () => {
  let shown = ''
  const { mirror, hand, nightly } = await aNight({
    intercept: async (c, next) => {
      const meta = { current_page: 1, per_page: 100, total: 1 }
      const isOfShown = shown !== '' && c.req.query('search')?.includes('@') === true
      return isOfShown ? c.json({ success: true, data: [{ id: shown.toUpperCase() }], meta }) : next()
    },
  })
  await nightly()
  const hidden = hand.customers[100]?.id ?? ''
  hand.delete(hidden)
  await nightly()
  shown = hidden

  const { report } = await nightly()

  expect(report).toMatchObject({ proof: 'unproven', reasons: ['contradicted'], removed: 0 })
  expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ certificate: { found: [hidden] } })
  expect(goneIds(mirror)).toEqual(new Set())
})

async function aNight(options: SandboxOptions = {}) {
  const sandbox = await aSandbox({ organizations: 1, customers: [300], scenario: 'still', ...options })
  const mirror = await aMirror()
  const nightly = () => syncSandbox(sandbox, mirror, {})
  return { sandbox, mirror, hand: sandbox.organization('acme'), nightly }
}
