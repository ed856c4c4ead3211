import { expect, test } from 'vitest'
import { ListScan } from '../../src/scan/list-scan.ts'
import { startOf, type WindowAnswer, windowKey } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { seeds } from '../support/seeds.ts'
import { SimulatedList } from '../support/simulated-list.ts'

const byPosition = (a: WindowAnswer, b: WindowAnswer) => startOf(a.window) - startOf(b.window)

test('a scan interrupted twice, the second time after its last window, is not proven by a seam that hides what changed at the first', () => {
  const proofs = new Set<string>()
  for (let seed = 1; seed <= seeds(3000, { every: 40 }); seed++) {
    const luck = dice(seed)
    const list = new SimulatedList(luck, { size: 1030, order: 'name' })
    const service = { answer: list.answer.bind(list) }
    const first = drive(new ListScan(), service, { dice: luck, stopAfter: 1 + luck.below(11) })
    list.delete()
    list.insert()
    list.move()
    const second = drive(new ListScan({ recalled: asHandedBack(first.reads) }), service, { dice: luck })
    const scan = new ListScan({ recalled: asHandedBack([...first.reads, ...second.reads]) })
    const third = drive(scan, service, { dice: luck })
    const { proof, basis } = scan.certificate()
    const read = new Set([...first.ids, ...second.ids, ...third.ids])
    const unread = list.survivors().filter((id) => !read.has(id))
    proofs.add(`${proof} ${basis}`)
    if (proof === 'proven') expect({ seed, unread }).toEqual({ seed, unread: [] })
  }
  expect([...proofs]).toContain('settled seams')
})

/** As a mirror hands them back: the last answer of each window, in the order of their positions. */
function asHandedBack(answers: readonly WindowAnswer[]): WindowAnswer[] {
  return [...new Map(answers.map((answer) => [windowKey(answer.window), answer])).values()].toSorted(byPosition)
}
