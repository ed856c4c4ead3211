import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { anEnding, aPage, customers, START_MS } from '../../support/builders.ts'
import { aMirror } from '../../support/mirror-file.ts'

test('the end of a run that has read the list is on the disk before it is reported, and no save waits for the disk', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const steps = stepsFromNowOn()

  await mirror.savePages(run, [aPage(1, customers(1, 5))], START_MS)
  expect(steps()).toEqual(['transaction'])
  await mirror.finishRun(run, anEnding(), START_MS)

  const ending = steps().slice(steps().indexOf('synchronous = FULL'))
  expect(ending.slice(0, 3)).toEqual(['synchronous = FULL', 'transaction', 'synchronous = 1'])
})

/** When commits begin to wait for the disk, and cease to, and when there are transactions. */
function stepsFromNowOn(): () => string[] {
  const pragma = vi.spyOn(Database.prototype, 'pragma')
  const exec = vi.spyOn(Database.prototype, 'exec')
  onTestFinished(() => {
    pragma.mockRestore()
    exec.mockRestore()
  })
  return () =>
    [
      ...pragma.mock.calls.map(([text], at) => [pragma.mock.invocationCallOrder[at] ?? 0, text] as const),
      ...exec.mock.calls.map(
        ([text], at) =>
          [exec.mock.invocationCallOrder[at] ?? 0, text.startsWith('BEGIN') ? 'transaction' : text] as const,
      ),
    ]
      .toSorted(([one], [other]) => one - other)
      .map(([, text]) => text)
      .filter((text) => text === 'transaction' || text.startsWith('synchronous'))
}
