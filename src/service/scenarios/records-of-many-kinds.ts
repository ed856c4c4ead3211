import type { ServiceCustomer } from '../customers.ts'
import { movingList } from './moving-list.ts'
import type { Scenario } from './scenario.ts'

/** Makes the record that is sent instead of a customer's. */
type Disguise = (customer: ServiceCustomer) => unknown

/** The list is at rest and every page true, but records are not what the specification says. */
export const RECORDS_OF_MANY_KINDS: readonly Scenario[] = [
  {
    name: 'mixed-types',
    says: 'Records have numbers for text, unknown fields, nulls, missing fields, upper-case ids and odd dates; every fiftieth has no id.',
    create: ({ customers }) => {
      const nameless = new Set(customers.filter((_, index) => index % 50 === 49).map(({ id }) => id))
      const disguises = new Map(customers.map(({ id }, index) => [id, DISGUISES[index % DISGUISES.length]]))
      const disguised = (customer: ServiceCustomer): unknown => {
        if (nameless.has(customer.id)) return { ...customer, id: undefined }
        return disguises.get(customer.id)?.(customer) ?? customer
      }
      return {
        list: movingList(customers),
        nameless,
        answer: ({ query }, serve) => {
          const honest = serve(query)
          return { kind: 'page', envelope: { ...honest, data: honest.data.map(disguised) } }
        },
      }
    },
  },
]

/** Used in turn down the list. Undefined fields are not sent. */
const DISGUISES: readonly Disguise[] = [
  (customer) => customer,
  (customer) => ({ ...customer, phone: Number(customer.phone.replace(/\D/g, '')) }),
  (customer) => ({ ...customer, loyalty_tier: 'gold', tags: ['made-up'], score: 7.5 }),
  (customer) => ({ ...customer, company_name: null, address: null }),
  (customer) => ({ ...customer, timezone: undefined, language: undefined }),
  (customer) => ({ ...customer, id: customer.id.toUpperCase() }),
  (customer) => ({ ...customer, created_at: customer.created_at.slice(0, 19).replace('T', ' ') }),
  (customer) => ({ ...customer, created_at: `${customer.created_at.slice(0, 19)}+00:00` }),
  (customer) => ({ ...customer, created_at: 'some time in spring' }),
  (customer) => ({ ...customer, created_at: Date.parse(customer.created_at) / 1000 }),
  (customer) => ({ ...customer, email: '', username: true }),
  // Half of a surrogate pair, as careless cutting leaves it.
  (customer) => ({ ...customer, name: `${customer.name} \uD83D` }),
  (customer) => ({ ...customer, email: `${customer.username}@localhost`, created_at: null }),
]
