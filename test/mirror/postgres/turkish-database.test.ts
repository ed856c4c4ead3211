import { expect, onTestFinished, test } from 'vitest'
import { postgresPrograms } from '../../../bench/postgres-server.ts'
import { openMirror } from '../../../src/mirror/mirror.ts'
import { aCustomer, customerId, START_MS } from '../../support/builders.ts'
import { aTurkishDatabase } from '../../support/postgres/turkish-database.ts'
import { night } from '../nights.ts'

test.skipIf(postgresPrograms() === undefined)(
  'a customer is forgotten whose address stands in a reject with other capital letters, in a database whose language is Turkish',
  async () => {
    const mirror = await openMirror(await aTurkishDatabase())
    onTestFinished(() => mirror.close())
    const customer = aCustomer(1, { email: 'info@hidden.example' })
    await night(mirror, 0, [customer, { email: 'INFO@HIDDEN.EXAMPLE' }, { email: 'other@hidden.example' }])

    const forgetting = { organization: 'acme', id: customerId(1), nowMs: START_MS, monotonicMs: undefined }
    const { deleted } = await mirror.forgetCustomer(forgetting)

    expect(deleted).toEqual({ customers: 1, changes: 0, rejects: 1 })
  },
)
