import { usualQuickLimit } from '../../src/quick/read-quickly.ts'
import type { GroupResult, Row } from '../results.ts'
import { playQuickRounds, type Order, type QuickRound } from './quick-rounds.ts'

/** What is read in quick scans, by the names of the rows. */
export const QUICK_SCANS = {
  creation: 'quick, by creation',
  name: 'quick, by name',
} as const

/** Enough for a rate of one in a hundred to show. */
const ROUNDS = 150
const [COME, LEAVE] = [5, 2]

/**
 * Quick scans of a list in which some customers came and left, without a service: the requests, and how many of these changes stay
 * unseen, because they cancel out between two pages that are read, or because the limit of requests is reached.
 */
export function measureQuick({ customers }: { customers: number }): GroupResult {
  const limit = usualQuickLimit(customers, 100)
  const scans: [name: string, order: Order, maxRequests: number][] = [
    [QUICK_SCANS.creation, 'creation', limit],
    [QUICK_SCANS.name, 'name', limit],
  ]
  const measured = scans.map(([name, order, maxRequests]) => {
    const rounds = playQuickRounds({ order, customers, maxRequests, come: COME, leave: LEAVE, rounds: ROUNDS })
    return { name, rounds, maxRequests }
  })
  return {
    name: 'quick-runs',
    about: `${customers.toLocaleString('en')} customers, ${COME} new and ${LEAVE} gone, ${ROUNDS} seeds, no service`,
    rows: measured.map(({ name, rounds }) => rowOf(name, rounds, customers)),
    notes: measured.map(({ name, rounds, maxRequests }) => `${name} (limit ${maxRequests}): ${whatWasFound(rounds)}`),
  }
}

function rowOf(name: string, rounds: readonly QuickRound[], customers: number): Row {
  return { name, floors: [], measurements: rounds.map(({ wallMs, requests }) => ({ wallMs, requests, customers })) }
}

function whatWasFound(rounds: readonly QuickRound[]): string {
  const most = Math.max(...rounds.map(({ requests }) => requests))
  const changes = (COME + LEAVE) * rounds.length
  const unseen = rounds.reduce((sum, round) => sum + round.unseen, 0)
  const affected = rounds.filter((round) => round.unseen > 0)
  const atLimit = rounds.filter(({ isAtLimit }) => isAtLimit).length
  return (
    `at most ${most} requests; ${unseen} of ${changes} changes unseen (${percent(unseen / changes)}), ` +
    `in ${percent(affected.length / rounds.length)} of the runs; ${atLimit} runs stopped at the limit`
  )
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
