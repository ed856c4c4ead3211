import type { Answer, Serve } from '../answer.ts'
import type { ServiceCustomer } from '../customers.ts'
import type { ListQuery } from '../listing.ts'
import type { Random } from '../random.ts'
import type { RateLimit } from '../rate-limit.ts'
import type { MovingList } from './moving-list.ts'

/** A way in which a service can be hard to read. Driven by its seed and by requests alone, never by time, so that it replays. */
export type Scenario = {
  name: string
  /** What it does, in one sentence. */
  says: string
  /** What holds for the service as a whole. */
  service?: { rateLimit?: RateLimit; sharedRateLimit?: RateLimit; clockAheadMs?: number }
  /** Opens the play for one organization. Without it, the list is still and every answer honest. */
  create?: (stage: Stage) => Play
}

/** What a play is made of. */
export type Stage = {
  /** In order of creation, oldest first. */
  customers: readonly ServiceCustomer[]
  random: Random
  /** Another customer, like nobody before. */
  newcomer: (created_at: string) => ServiceCustomer
  /** How long an answer that drips takes. */
  dripMs: number
}

/** A valid and authenticated request for the list, and how many of its organization's it is, from 1. */
export type Turn = { query: ListQuery; count: number }

/** What happens to one organization's list, and how it is answered. */
export type Play = {
  list: MovingList
  /** What happens just before a request is answered. */
  before?: (turn: Turn) => void
  /** The order in which this request sees the rows. */
  arrange?: (rows: readonly ServiceCustomer[], turn: Turn) => readonly ServiceCustomer[]
  /** Answers otherwise than honestly. */
  answer?: (turn: Turn, serve: Serve) => Answer
  /** Customers on the list whose ids are never sent. */
  nameless?: ReadonlySet<string>
}

/** Whether a request asks for the whole list, and not only for some of it. */
export function isUnfiltered({ search, language }: ListQuery): boolean {
  return search === '' && language === ''
}
