import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { sandboxCommand } from '../../src/cli/sandbox.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { startSandbox } from '../../src/service/sandbox.ts'
import { SCENARIOS } from '../../src/service/scenarios/scenarios.ts'
import { generateCustomers } from '../../src/service/customers.ts'
import { played } from './a-sandbox.ts'

/** Runs the command to its end and gives what it printed. */
async function output(...options: string[]): Promise<string> {
  const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })]
  const signal = AbortSignal.abort()
  await sandboxCommand({ signal, stdout, stderr, exitWith: () => undefined }).parseAsync(options, { from: 'user' })
  return `${String(stdout.read() ?? '')}${String(stderr.read() ?? '')}`
}

test('--list-scenarios prints each name once, with one sentence, and ends', async () => {
  const lines = (await output('--list-scenarios')).trimEnd().split('\n')
  expect(lines.map((line) => line.split(' ')[0])).toEqual(SCENARIOS.map(({ name }) => name))
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length)
  for (const line of lines) expect(line).toMatch(/^[a-z0-9-]+ {2,}[A-Z].*\.$/)
})

test('--scenario names the scenario', async () => {
  expect(await output('--port', '0', '--customers', '3', '--scenario', 'delete')).toContain('plays the scenario delete')
})

test('an unknown scenario is refused with a suggestion', async () => {
  await expect(startSandbox({ scenario: 'insert-delte' })).rejects.toThrow(UsageError)
  await expect(output('--scenario', 'insert-delte')).rejects.toThrow(
    `There is no scenario "insert-delte" (did you mean "insert-delete"?). 'customer-mirror sandbox --list-scenarios'`,
  )
})

test('customers that were listed all the time are reported as such', async () => {
  const { hand, truth, acme } = await played(undefined, { customers: 4 })
  const [first, second] = acme.customers
  const [newcomer] = generateCustomers({ seed: 'newcomer', count: 1 })
  if (!first || !second || !newcomer) throw new Error('no customer')
  const mark = truth.mark()
  hand.delete(first.id)
  hand.delete(second.id)
  hand.insert(second)
  hand.insert(newcomer)

  expect(truth.lived(mark)).toEqual(new Set(acme.customers.slice(2).map(({ id }) => id)))
  expect(truth.lived(truth.mark())).toEqual(truth.listed())
  expect(truth.listed()).toEqual(new Set([...acme.customers.slice(1).map(({ id }) => id), newcomer.id]))
  expect(truth.everDeleted()).toEqual(new Set([first.id, second.id]))
})

test('what is done by hand is served at once, in the order of the list', async () => {
  const { hand, get, acme } = await played(undefined, { customers: 3 })
  const second = acme.customers[1]
  if (!second) throw new Error('no customer')
  hand.delete(second.id)
  expect((await get(1)).meta.total).toBe(2)
  hand.insert(second)
  expect((await get(1)).ids).toEqual(acme.customers.map(({ id }) => id))
  expect(() => hand.insert(second)).toThrow('is listed already')
  hand.delete(second.id)
  expect(() => hand.delete(second.id)).toThrow(`acme lists no customer ${second.id}`)
})

test('requests are noted in the order they came, whatever they were answered', async () => {
  const { hand, get, acme, sandbox } = await played('fixed-sizes', { customers: 3 })
  await get(1, 100)
  await get(2, 60)
  await get(1, 15, 'someone')
  await fetch(`${acme.baseUrl}/customers?page=4`, { headers: { 'X-API-Key': acme.apiKey } })
  await fetch(`${acme.baseUrl}/customers`)
  expect(hand.requests).toEqual([
    { page: 1, per_page: 100, search: '', status: 200 },
    { page: 2, per_page: 60, search: '', status: 422 },
    { page: 1, per_page: 15, search: 'someone', status: 200 },
    { page: 4, per_page: 15, search: '', status: 401 },
  ])
  expect(() => sandbox.organization('acne')).toThrow('no organization "acne"')
  expect(() => sandbox.truth('acne')).toThrow(UsageError)
})
