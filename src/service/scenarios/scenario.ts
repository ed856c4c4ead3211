import type { Answer, Serve } from '../answer.ts'
import type { ServiceCustomer } from '../customers.ts'
import type { ListQuery } from '../listing.ts'
import type { Random } from '../random.ts'
import type { ServiceLimit } from '../rate-limit.ts'
import type { MovingList } from './moving-list.ts'

/**
 * One wrong behaviour of a service. It depends only on its seed, on requests and, where it says so, on the clock it is given, so that
 * it can be repeated.
 */
export type Scenario = {
  name: string
  /** Its description, in one sentence. */
  says: string
  /** Settings of the whole service. */
  service?: { rateLimit?: ServiceLimit; sharedRateLimit?: ServiceLimit; clockAheadMs?: number }
  /** Starts the scenario for one organization. Without it, the list is at rest and every answer correct. */
  create?: (stage: Stage) => Play
}

/** The material of a scenario. */
export type Stage = {
  /** In order of creation, oldest first. */
  customers: readonly ServiceCustomer[]
  random: Random
  /** Makes a new customer. */
  newcomer: (created_at: string) => ServiceCustomer
  /** The duration of a slow answer. */
  dripMs: number
  /** The service's clock, in Unix milliseconds. */
  now: () => number
}

/** A valid and authenticated request for the list, with its number within the organization, from 1. */
export type Turn = { query: ListQuery; count: number }

/** The changes of one organization's list, and its answers. */
export type Play = {
  list: MovingList
  /** Runs just before a request is answered. */
  before?: (turn: Turn) => void
  /** The order in which this request sees the rows. */
  arrange?: (rows: readonly ServiceCustomer[], turn: Turn) => readonly ServiceCustomer[]
  /** Whether `arrange` lets a customer keep its place among those for which this is true too; without it, none of them. */
  keepsPlace?: (customer: ServiceCustomer) => boolean
  /** A wrong answer, in place of the correct one. */
  answer?: (turn: Turn, serve: Serve) => Answer
  /** Customers on the list whose ids are never sent. */
  nameless?: ReadonlySet<string>
}

/** Whether a request asks for the whole list, without a filter. */
export function isUnfiltered({ search, language }: ListQuery): boolean {
  return search === '' && language === ''
}
