import { expect, test } from 'vitest'
import { aWorker, aWorkerProcess, message } from '../../support/worker-log.ts'

test('spans are made when an OpenTelemetry SDK was loaded before', async () => {
  const sdk = `data:text/javascript,globalThis[Symbol.for('opentelemetry.js.api.1')] = { version: '1.9.0', trace: {} }`
  const without = await (await aWorker()).worker.said(message('worker started'))
  const traced = await (
    await aWorkerProcess({ node: ['--import', sdk] })
  ).worker.said(({ msg }) => msg === 'worker started')

  expect(without).toMatchObject({ traced: false })
  expect(traced).toMatchObject({ traced: true })
})
