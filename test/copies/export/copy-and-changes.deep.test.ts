import { describe, expect, test } from 'vitest'
import { night, quickRun } from '../../store/nights.ts'
import { aCustomer, customers } from '../../support/builders.ts'
import { aCopy, activeIn, comparable, expectJoined, exported, listOf, NIGHTS } from '../../support/exported-files.ts'
import { aMirror, rowsOf } from '../../support/mirror-file.ts'
import { someOf } from '../../support/seeds.ts'

describe('a copy and the changes since make the customers of now', () => {
  test('also by way of the changes of every night', async () => {
    const mirror = await aMirror()
    await night(mirror, 0, listOf(0))
    const copy = await aCopy(await exported(mirror))
    let { lastSeq } = copy
    for (const n of NIGHTS.slice(1)) {
      await night(mirror, n, listOf(n))
      const changes = await exported(mirror, { changesSince: lastSeq })
      await copy.apply(changes)
      lastSeq = (await aCopy(changes)).lastSeq
      expect(comparable(await copy.rows()), `night ${n}`).toEqual(activeIn(mirror))
    }
  })

  test('with quick runs between the nights, whichever of them the copy is of', async () => {
    const mirror = await aMirror()
    const copies: string[] = []
    const grades = ['proven', 'settled', 'settled', 'unproven', 'settled', 'settled'] as const
    for (const n of NIGHTS) {
      await night(mirror, n, listOf(n), {
        proof: grades[n] ?? 'proven',
        confirmed: customers(1, 9).map(({ id }) => String(id)),
      })
      copies.push(await exported(mirror))
      const came = [aCustomer(10, { name: `Renamed ${n}` }), aCustomer(70 + n), ...(n === 3 ? [aCustomer(3)] : [])]
      await quickRun(mirror, n, came, { gone: [20 + n, 21 + n] })
      copies.push(await exported(mirror))
    }
    const statuses = rowsOf(
      mirror.file,
      'SELECT status, COUNT(*) AS runs, SUM(missing > 0) AS marked FROM runs GROUP BY status',
    )
    expect(statuses).toMatchObject([
      { status: 'complete', runs: 6 },
      { status: 'partial', runs: 6, marked: 6 },
    ])
    for (const copy of someOf(copies, { every: 4 })) await expectJoined(mirror, copy)
  })
})
