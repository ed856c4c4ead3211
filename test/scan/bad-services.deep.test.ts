import { expect, test } from 'vitest'
import { startOf, type Window } from '../../src/scan/window.ts'
import { someOf } from '../support/seeds.ts'
import { SimulatedList } from '../support/simulated-list.ts'
import { type Answer, type Misbehaviour, scanOf, notFound } from '../support/misbehaving-services.ts'

test.each([2 ** 53 - 1, 1e11])(
  'a total of %d over pages of fixed sizes is no plan to fill the memory with',
  (total) => {
    const misbehave: Misbehaviour = (list, window) =>
      [100, 50].includes(window.size) ? { ...list.answer(window), total } : 'size-refused'

    expect(scanOf(misbehave).certificate.proof).toBe('unproven')
  },
)

const BEYOND: [string, (list: SimulatedList, window: Window) => Answer][] = [
  ['404', (list, window) => (startOf(window) < list.size ? list.answer(window) : notFound(window))],
  ['the last page', (list, window) => (startOf(window) < list.size ? list.answer(window) : 'page-mismatch')],
  ['an empty page', (list, window) => list.answer(window)],
]

test.each(BEYOND)('a list that shrinks while it is read is read to its end, where %s stands beyond it', (_, answer) => {
  for (const parallel of [1, 6]) {
    for (const gone of someOf([20, 150, 700])) {
      for (const plain of [true, false]) {
        for (const when of someOf([1, 2, 3, 4, 5, 6, 7, 8, 9])) {
          const shrinking: Misbehaviour = (list, window, answered) => {
            if (answered === when) for (let left = gone; left > 0; left -= 1) list.delete()
            return answer(list, window)
          }
          const { certificate, lost, requests } = scanOf(shrinking, { plain, parallel })
          const isCertified = certificate.proof !== 'unproven'
          if (isCertified) expect({ gone, when, lost }).toEqual({ gone, when, lost: 0 })
          // Where more than a page leaves at once, a page that is not found may end the scan: the next run goes on from there.
          if (gone < 100) expect({ gone, when, ...certificate }).toMatchObject({ gone, when, stoppedAt: undefined })
          // With several pages under way, one purge looks like a database that lags behind.
          if (!plain && parallel === 1 && gone === 20)
            expect({ when, isCertified }).toEqual({ when, isCertified: true })
          expect(requests).toBeLessThan(40)
        }
      }
    }
  }
})
