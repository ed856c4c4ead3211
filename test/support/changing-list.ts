import { aCustomer, type SentRecord } from './builders.ts'

/**
 * The list in one edition: every customer has changed since the edition before, one is new, one is broken, one is listed twice,
 * and one record has no id.
 */
export function changingList(edition: number): SentRecord[] {
  const list = Array.from({ length: 1500 + edition }, (_, index) =>
    aCustomer(index + 1, { name: `Customer ${index + 1}, edition ${edition}` }),
  )
  const broken = edition % list.length
  list[broken] = { ...list[broken], email: [] }
  return [...list, aCustomer(700, { name: `Customer 700, edition ${edition}` }), { name: 'Nobody' }]
}
