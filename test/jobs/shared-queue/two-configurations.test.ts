import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { eventually } from '../../support/eventually.ts'
import { aJobsWorkplace, someQueues } from '../../support/jobs-workplace.ts'
import { startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test('of two workers with different files each mirrors its organizations, and both say so in /readyz', async () => {
  const [acme, globex] = organizationsOf(await aSandbox({ customers: [3, 3] }))
  const place = aJobsWorkplace([acme!])
  const other = aJobsWorkplace([], { queue: place.queue })
  const document: object = parse(readFileSync(place.config, 'utf8'))
  const write = (file: string, organizations: readonly unknown[]) =>
    writeFileSync(file, stringify({ ...document, mirror: place.mirror, organizations }))
  write(place.config, [acme])
  write(other.config, [acme, globex])
  const timings = { configShareMs: 50 }
  const workers = [startWorker(place, { timings }), startWorker(other, { timings })]
  await Promise.any(workers.map((worker) => worker.ran('acme')))
  await Promise.any(workers.map((worker) => worker.ran('globex')))
  expect(workers.flatMap(({ lines }) => lines).join()).not.toContain('run given up')
  const problems = () => Promise.all(workers.map(configurationProblems))

  await eventually(problems, (found) => found.every(([problem]) => problem?.includes('give all workers the same file')))
  write(other.config, [acme])
  await eventually(problems, (found) => found.flat().length === 0)
})

test('a worker without the organization of a job leaves it to one that has it, and uses none of its attempts', async () => {
  const [acme, globex] = organizationsOf(await aSandbox({ customers: [3, 3] }))
  const place = aJobsWorkplace([acme!])
  const other = aJobsWorkplace([globex!], { queue: place.queue })
  const document: object = parse(readFileSync(other.config, 'utf8'))
  writeFileSync(other.config, stringify({ ...document, mirror: place.mirror }))
  const without = startWorker(place)
  const { queues } = await someQueues(place.queue, place.mirror)
  await queues.request('sync', 'globex', 'manual')
  const isLeft = ({ msg, why }: { msg: string; why?: unknown }) =>
    msg === 'job left to other workers' && why === 'another-configuration'
  await without.said(isLeft)
  const [job] = await queues.sync.getDelayed()
  await startWorker(other).ran('globex', 'complete')

  expect(job?.attemptsMade).toBe(0)
  expect(without.lines.join()).not.toContain('run given up')
})

async function configurationProblems(worker: ReturnType<typeof startWorker>): Promise<string[]> {
  const { http = '' } = await worker.said(({ http: origin }) => origin !== undefined)
  const { problems }: { problems: string[] } = Object(await (await fetch(`${http}/readyz`)).json())
  return problems.filter((problem) => problem.includes('configuration'))
}
