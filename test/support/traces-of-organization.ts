import { aCustomer, customers } from './builders.ts'
import { storedText } from './mirror-reader.ts'
import { aMirror } from './mirror-file.ts'
import { night } from '../store/nights.ts'

/** Stands in every field of a customer, and in what the mirror noted of it. */
export const TRACE = 'trace-of-initrode'

/** Whether the text stands anywhere in the file. */
export const holds = (file: string, text: string) => storedText(file).includes(text)

/** A mirror with acme, and with initrode, whose customers were renamed, removed and rejected under this trace. */
export async function aMirrorWithTraces() {
  const mirror = await aMirror()
  const organization = 'initrode'
  const list = (name: string) => [
    ...customers(1, 40).map((_, n) => aCustomer(n + 1, { name: `${TRACE} ${name} ${n}`, note: `${TRACE} extra` })),
    { id: 'no UUID', note: `${TRACE} rejected` },
  ]
  await night(mirror, 0, customers(100, 140))
  for (const [n, name] of ['first', 'second', 'third'].entries()) await night(mirror, n, list(name), { organization })
  await night(mirror, 4, list('fourth').slice(2), { organization })
  await night(mirror, 5, list('fifth').slice(2), { organization })
  return mirror
}
