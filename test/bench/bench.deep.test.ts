import { expect, onTestFinished, test } from 'vitest'
import { atRest, firstLoad, floorOf, type Member } from '../../bench/members.ts'
import { groupTable } from '../../bench/report.ts'
import { runRounds } from '../../bench/rounds.ts'
import { createStage } from '../../bench/stage.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

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
