import { expect, test } from 'vitest'
import { createByteBudget } from '../../src/source/byte-budget.ts'
import { aSource, large, PATIENT } from './a-source.ts'
import { onThisMachine } from '../support/eventually.ts'
import { faultServer } from '../support/fault-server.ts'

test('a page that waits for room does not count as lost', async () => {
  const server = await faultServer(large)
  const budget = createByteBudget(1000)
  const requestTimeoutMs = onThisMachine(1000)
  const { source } = aSource(server, { requestTimeoutMs, maxWaitMs: 0 }, { budget })
  const first = await source.readPage({ page: 1, size: 50 }, PATIENT)
  const second = source.readPage({ page: 2, size: 50 }, PATIENT)
  await new Promise((resolve) => setTimeout(resolve, 2 * requestTimeoutMs))
  first.release?.()
  expect((await second).records()).toHaveLength(50)
})
