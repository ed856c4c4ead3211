import { expect, onTestFinished, test, vi } from 'vitest'
import { postgresPrograms } from '../../../bench/postgres-server.ts'
import { openOnce } from '../../../jobs/commands/run-once.ts'
import { startQuickPostgres } from '../../support/postgres/quick-server.ts'
import { aWorkplace } from '../../support/workplace.ts'

test.skipIf(postgresPrograms() === undefined)(
  'a worker that ends with its work prints no error of its own when the server of its queue ends its connections',
  async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => printed.mockRestore())
    const server = await startQuickPostgres()
    onTestFinished(() => server.close())
    const { config } = aWorkplace([ORGANIZATION], { queue: server.url })
    const once = await openOnce({ config, embedded: false }, { signal: new AbortController().signal })

    await server.kill()
    await server.start()
    await once.close()

    expect(printed).not.toHaveBeenCalled()
  },
)

const ORGANIZATION = { id: 'acme', baseUrl: 'http://127.0.0.1:1', apiKey: 'made-up', secret: 'made-up' }
