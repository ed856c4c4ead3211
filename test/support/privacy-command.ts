import { envelopeOf, json, type Reply } from './fault-server.ts'

/** The key of the policy. */
export const KEY = 'made-up key of a test, 32 characters and more'

/** A value to be hidden. */
export const PHONE = '+1 555 0100 unmistakable'

/** Three customers with a phone number. */
export const PEOPLE: Reply = (response, request) => {
  const { data, ...same } = envelopeOf(3, request)
  return json(200, { ...same, data: data.map((record) => ({ ...record, phone: PHONE, address: 'unmistakable' })) })(
    response,
    request,
  )
}

/** The policy as a configuration writes it. */
export const privacy = { drop: ['address'], hash: ['phone'], key: { env: 'PRIVACY_KEY' } }
