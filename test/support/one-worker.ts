import { expect } from 'vitest'
import { aGate } from './gate.ts'
import { aJobsWorkplace } from './jobs-workplace.ts'
import { valueOf } from './mirror-file.ts'
import { aSandbox, organizationsOf, type Workplace } from './workplace.ts'

export async function aWorkerOf<Worker>(
  customers: number,
  gate: ReturnType<typeof aGate>,
  start: (place: Workplace) => Worker,
) {
  const sandbox = await aSandbox({ customers: [customers], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  return { place, sandbox, worker: start(place) }
}

export function expectWhole(mirrorFile: string, customers: number): void {
  expect(valueOf(mirrorFile, 'SELECT count(*) FROM customers')).toBe(customers)
  expect(valueOf(mirrorFile, `SELECT status FROM runs ORDER BY id DESC LIMIT 1`)).toBe('complete')
  expect(valueOf(mirrorFile, `SELECT count(*) FROM runs WHERE status = 'running'`)).toBe(0)
  expect(valueOf(mirrorFile, 'SELECT count(*) FROM leases')).toBe(0)
}
