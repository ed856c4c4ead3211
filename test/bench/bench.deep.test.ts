import { expect, onTestFinished, test, describe } from 'vitest'
import { atRest, firstLoad, floorOf, type Member } from '../../bench/members.ts'
import { groupTable } from '../../bench/report.ts'
import { runRounds } from '../../bench/rounds.ts'
import { createStage } from '../../bench/stage.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { servedList } from '../../bench/service/served-list.ts'
import { listEnvelope } from '../../src/source/customers-page.ts'

test('a contender and its floor run in turns, make the same requests, and are measured', async () => {
  const dataset = { organizations: 1, customers: 1100 }
  const stage = createStage(temporaryFolder(), {})
  onTestFinished(() => stage.clear())
  const rest = atRest('at rest', dataset, [[floorOf('at rest')]])
  const floor: Member = {
    ...{ dataset, scan: rest.scan, answering: rest.answering, start: 'empty', floors: [] },
    ...{ name: floorOf('at rest'), program: 'download', repeats: 'at rest' },
  }
  const turns: string[] = []
  const group = { name: 'small', about: 'eleven hundred', members: [rest, floor] }
  const result = await runRounds(group, stage, 2, ({ member }) => turns.push(member))
  const [contender, downloads] = result.rows.map(({ measurements }) => measurements)

  expect(turns).toEqual(['at rest', floor.name, 'at rest', floor.name])
  expect(contender).toHaveLength(2)
  expect(contender?.[0]).toMatchObject({ customers: 1100, counts: { unchanged: 1100, inserted: 0, proven: 1 } })
  expect(downloads?.[0]?.requests).toBe(contender?.[0]?.requests)
  for (const { wallMs, cpuMs, peakRssBytes } of [...(contender ?? []), ...(downloads ?? [])]) {
    expect(Math.min(wallMs, cpuMs ?? 0)).toBeGreaterThan(0)
    expect(peakRssBytes).toBeGreaterThan(10 * 1024 ** 2)
  }
  expect(groupTable(result, [result])).toMatch(/at rest {2}.*\n {4}× at rest: its downloads +\d/)
  // An initial sync must not find customers in the file.
  await expect(stage.run({ ...firstLoad('at rest', dataset), start: 'yesterday' })).rejects.toThrow(
    'inserted 0 of 1100',
  )
})

describe('the service that is never what is measured', () => {
  const options = { seed: 'test', count: 1234 } as const
  const page = (list: ReturnType<typeof servedList>, number: number, size: number) =>
    listEnvelope.parse(JSON.parse(list.page(number, size, 'http://service.example.com/customers').toString()))

  test('an edition changes a hundredth of the rows, or leaves it out', () => {
    const texts = (edition: 'base' | 'changed' | 'gone') => {
      const list = servedList({ ...options, count: 10_000, edition })
      return page(list, 1, list.total).data.map((record) => JSON.stringify(record))
    }
    const base = new Set(texts('base'))
    const [changed, gone] = [texts('changed'), texts('gone')]

    expect(changed).toHaveLength(10_000)
    expect(changed.filter((text) => !base.has(text)).length).toBeGreaterThan(50)
    expect(changed.filter((text) => !base.has(text)).length).toBeLessThan(200)
    expect(gone.every((text) => base.has(text))).toBe(true)
    expect(gone.length).toBeGreaterThan(9800)
    expect(gone.length).toBeLessThan(9950)
  })
})
