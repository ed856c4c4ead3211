import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { queueCommand } from '../../src/cli/queue.ts'
import { eventually } from '../support/eventually.ts'
import { aJobsWorkplace, isEmbedded } from '../support/jobs-workplace.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { SOON } from '../support/publishing.ts'
import { runCommand } from '../support/run-command.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

test('while a service is down, the page, the log and the queue say so, and the copy follows the other organizations', async () => {
  const sandbox = await aSandbox({
    customers: [20, 30],
    intercept: async (context, next) =>
      context.req.header('X-API-Key') === sandbox.organizations[0]?.apiKey ? new Response('', { status: 503 }) : next(),
  })
  const place = aJobsWorkplace(organizationsOf(sandbox), { publish: { file: 'copies/x.db' } })
  const copy = join(place.folder, 'copies', 'x.db')
  const worker = startWorker(place, { timings: SOON })
  const { http } = await worker.said(({ msg }) => msg === 'worker started')
  await worker.ran('globex')
  const page = await eventually(
    async () => (await (await fetch(`${String(http)}/`)).text()).replaceAll(/<[^>]*>|\s+/g, ' ').replaceAll(/ +/g, ' '),
    (text) => /service answers 503; attempt [2-9]; next/.test(text),
  )
  await eventually(
    () => existsSync(copy),
    (isThere) => isThere,
  )

  expect(page).toMatch(/acme Waiting .*The service answers 503; attempt \d; next in \d+ s\./)
  expect(page).not.toContain('Running')
  expect(worker.lines.join('\n')).toMatch(/"reason":"unavailable","status":503,"attempt":2/)
  expect(rowsOf(copy, "SELECT customers FROM manifest WHERE organization = 'globex'")).toEqual([{ customers: 30 }])
  if (isEmbedded) return
  const { stdout } = await runCommand(queueCommand, ['--json', '--config', place.config])
  expect(JSON.parse(stdout).jobs).toMatchObject([
    { organization: 'acme', state: 'running', why: 'outage', status: 503, attempt: expect.any(Number) },
  ])
})
