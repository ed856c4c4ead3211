import { bytes, envelopeOf, type Reply } from './fault-server.ts'

/** A page of some hundred kilobytes. */
export const large: Reply = (response, request) => {
  const { data, ...rest } = envelopeOf(1000, request)
  const wide = data.map((record) => ({ ...record, name: 'ж'.repeat(5000) }))
  return bytes(200, JSON.stringify({ ...rest, data: wide }))(response, request)
}
