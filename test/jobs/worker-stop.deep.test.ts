import { expect, onTestFinished, test } from 'vitest'
import { postgresPrograms } from '../../bench/postgres-server.ts'
import { onThisMachine } from '../support/busy-machine.ts'
import { aGate } from '../support/gate.ts'
import { aQueue } from '../support/jobs-workplace.ts'
import { startQuickPostgres } from '../support/postgres/quick-server.ts'
import { aSilentProxy } from '../support/silent-proxy.ts'
import { startWorkerProcess } from '../support/worker-process.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

test.skipIf(postgresPrograms() === undefined)(
  'a worker stops within eight seconds while the server of its mirror answers nothing in the middle of a run',
  async () => {
    const server = await startQuickPostgres()
    onTestFinished(() => server.close())
    const address = new URL(server.url)
    const proxy = await aSilentProxy(Number(address.port))
    const gate = aGate({ fromPage: 2 })
    const sandbox = await aSandbox({ customers: [1500], intercept: gate.intercept })
    const place = aWorkplace(organizationsOf(sandbox, { concurrency: 1 }), {
      mirror: Object.assign(address, { port: String(proxy.port) }).href,
      queue: aQueue(),
      schedule: { cron: '0 2 * * *', timezone: 'UTC' },
    })
    const worker = startWorkerProcess(place)
    await gate.reached
    proxy.silence()
    gate.open()
    worker.send('SIGTERM')
    const { code, tookMs } = await worker.ended

    expect(code).toBe(143)
    expect(tookMs).toBeLessThan(onThisMachine(8000))
  },
)
