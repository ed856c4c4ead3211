import { utimesSync } from 'node:fs'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startWorker } from '../../support/worker-here.ts'
import { OTHER, twoMachines, whileComparing, aboutConfiguration, readiness } from '../../support/two-machines.ts'

test('a worker that starts with an older file writes and removes nothing, and says so', async () => {
  const { place, other, write, keys } = await twoMachines()
  write(place.config, ['acme', 'globex'])
  const first = startWorker(place)
  await eventually(keys, (names) => names.join() === 'acme,globex')
  write(other.config, ['initech'])
  utimesSync(other.config, new Date(), new Date(Date.now() - 86_400_000))
  const second = startWorker(other, { timings: { reconcileMs: 100 } })
  await second.said(OTHER)

  let looks = 0
  expect(await whileComparing(keys, () => (looks += 1) > 40)).toEqual(['acme,globex'])
  expect(aboutConfiguration(await readiness(second))).toEqual([
    expect.stringContaining('runs on a configuration other than the one accepted'),
  ])
  expect(aboutConfiguration(await readiness(first))).toEqual([])
  // A change of its file is an offer, whatever the content was before.
  write(other.config, ['acme'])
  await eventually(keys, (names) => names.join() === 'acme')
  await first.said(OTHER)
})
