import { utimesSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startWorker } from '../../support/worker-here.ts'
import { message } from '../../support/worker-log.ts'
import { OTHER, twoMachines, whileComparing, aboutConfiguration, readiness } from '../../support/two-machines.ts'

const BROKEN = message('configuration has mistakes, the one before stays')

test('of two edits, the second broken, the first stays: no worker removes what it does not know', async () => {
  const { place, other, write, keys } = await twoMachines()
  const [first, second] = [startWorker(place), startWorker(other)]
  await Promise.all([first.said(message('worker started')), second.said(message('worker started'))])
  await eventually(keys, (names) => names.join() === 'acme')

  // The first worker reads both edits, the second one only the broken one.
  write(place.config, ['acme', 'globex'])
  await eventually(keys, (names) => names.join() === 'acme,globex')
  await second.said(OTHER)
  writeFileSync(place.config, 'organizations: [')
  writeFileSync(other.config, 'organizations: [')
  await Promise.all([first.said(BROKEN), second.said(BROKEN)])
  const [ready, otherReady] = await Promise.all([readiness(first), readiness(second)])
  const afterMistakes = await whileComparing(keys, () => {
    for (const worker of [first, second]) worker.hangUp()
    return mistakes(first) > 3 && mistakes(second) > 3
  })

  expect(afterMistakes).toEqual(['acme,globex'])
  expect(ready.status).toBe(503)
  expect(aboutConfiguration(ready)).toEqual([expect.stringContaining('the configuration file cannot be used')])
  expect(aboutConfiguration(otherReady)).toEqual([
    expect.stringContaining('the configuration file cannot be used'),
    expect.stringContaining('runs on a configuration other than the one accepted'),
  ])

  write(other.config, ['globex'])
  await eventually(keys, (names) => names.join() === 'globex')
  write(place.config, ['globex'])
  await eventually(
    () => readiness(first),
    (answer) => aboutConfiguration(answer).length === 0,
  )
})

test('a job and a tick of an organization that one of two workers does not know wait for the other', async () => {
  const { place, other, write, keys, queues } = await twoMachines()
  write(place.config, ['acme', 'globex'])
  const first = startWorker(place)
  await eventually(keys, (names) => names.join() === 'acme,globex')
  await Promise.all([first.ran('acme'), first.ran('globex')])
  await first.stop()

  write(other.config, ['acme'])
  utimesSync(other.config, new Date(), new Date(Date.now() - 86_400_000))
  const second = startWorker(other)
  await second.said(OTHER)
  await queues.requestSync('globex', 'manual')
  await second.said(message('organization is not in this configuration yet, its job waits'))
  const [job] = await eventually(
    () => queues.sync.getDelayed(),
    (jobs) => jobs.length > 0,
  )
  const [tick] = (await queues.tick.getDelayed()).filter(({ data }) => data.organization === 'globex')
  await tick?.promote()
  const delayed = await eventually(
    async () => (await queues.tick.getDelayed()).filter(({ attemptsStarted }) => attemptsStarted > 0),
    (ticks) => ticks.length > 0,
  )
  const knowing = startWorker(place)
  await knowing.ran('globex')

  expect(job?.data).toEqual({ organization: 'globex' })
  expect(job?.attemptsMade).toBe(0)
  expect(delayed.map(({ id }) => id)).toEqual([tick?.id])
  // The schedule goes on meanwhile.
  expect(await keys()).toEqual(['acme', 'globex'])
})

/** How often a worker has reported mistakes in its file; it does, and compares schedules, after each SIGHUP. */
function mistakes({ lines }: ReturnType<typeof startWorker>): number {
  return lines.filter((line) => line.includes('configuration has mistakes')).length
}
