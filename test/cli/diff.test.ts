import { expect, test } from 'vitest'
import { diffCommand } from '../../src/cli/diff.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { night } from '../store/nights.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { aRecord, list } from '../support/fault-server.ts'
import { valueOf } from '../support/mirror-file.ts'
import { runCommand, runOnScreen } from '../support/run-command.ts'
import { aFaultServer, aMirroredWorkplace, aWorkplace, organizationAt } from '../support/workplace.ts'

/** Acme over four nights: customer 1 gets another name and e-mail address, 2 leaves and returns, 31 comes. */
async function fourNights() {
  const { workplace, mirror } = await aMirroredWorkplace()
  const later = [aCustomer(1, { name: 'Eve\u001b[31m', email: '=1+1@example.com' }), ...customers(3, 31)]
  await night(mirror, 0, customers(1, 30))
  await night(mirror, 1, later)
  await night(mirror, 2, later)
  await night(mirror, 3, [...later, aCustomer(2)])
  await mirror.close()
  const asked = (...args: string[]) => [...args, '--config', workplace.config]
  return { asked, diff: (...args: string[]) => runCommand(diffCommand, asked(...args)) }
}

test('diff prints what the newest run found, or everything since a run or a time, and how many that were', async () => {
  const { diff } = await fourNights()

  expect(await diff('acme')).toEqual({
    ...{ code: 0, stderr: '' },
    stdout: expect.stringMatching(
      /^change .*\nreturned +00000002-.* Customer 2 .*\n\nacme: 1 returned since run 3 of 2026-01-07 02:00 UTC\.\n$/,
    ),
  })
  const { stdout } = await diff('acme', '--since', '1')
  expect(stdout).toMatch(/^changed .* name +Customer 1 +Eve\\u001b\[31m\n/m)
  expect(stdout).toMatch(/^acme: 1 came, 1 left, 1 returned, 1 changed since run 1 of /m)
  expect((await diff('acme', '--since', '2026-01-07')).stdout).toContain(
    '1 left, 1 returned since 2026-01-07 00:00 UTC',
  )
  expect((await diff('acme', '--since', '4')).stdout).toMatch(/^acme: no customer came, left, .* since run 4 of /)
})

test('a document and CSV have a row for each changed field, with the values before and after', async () => {
  const { asked, diff } = await fourNights()
  const document = JSON.parse((await diff('acme', '--since', '#1', '--json')).stdout)
  const csv = (await diff('acme', '--since', '1', '--csv')).stdout.split('\r\n')

  expect(document).toMatchObject({ organization: 'acme', sinceRun: 1, since: null })
  expect(document.changes.map(({ id, change, field }: Record<string, unknown>) => [id, change, field])).toEqual([
    [customerId(1), 'changed', 'name'],
    [customerId(1), 'changed', 'email'],
    [customerId(31), 'added', null],
    [customerId(2), 'removed', null],
    [customerId(2), 'returned', null],
  ])
  expect(document.changes[1]).toMatchObject({ before: 'customer-1@example.com', after: '=1+1@example.com', run: 2 })
  expect(csv).toHaveLength(7)
  expect(csv[2]).toContain(',email,customer-1@example.com,=1+1@example.com')
  const { text, broken } = await runOnScreen(diffCommand, asked('acme', '--since', '1'), { columns: 50 })
  expect({ text, broken }).toEqual({ text: expect.stringContaining('Eve'), broken: [] })
})

test('a dry run prints what it would write, the first of many, whose document has all, and writes nothing', async () => {
  const renamed = { ...aRecord(1), name: 'Renamed' }
  const others = Array.from({ length: 79 }, (_, index) => aRecord(index + 2))
  const server = await aFaultServer(list(1), list(80, { envelope: { data: [renamed, ...others] } }))
  const { config, mirror } = aWorkplace([organizationAt(server)])
  const sync = (...args: string[]) => runCommand(syncCommand, ['--config', config, ...args])
  await sync()
  const { stdout } = await sync('--dry-run')
  const { changes, runs } = JSON.parse((await sync('--dry-run', '--json')).stdout)

  expect(stdout).toMatch(/^organization +change .*\nacme +changed .* name .* Renamed\nacme +added /)
  expect(stdout.match(/^acme +(added|changed) /gm)).toHaveLength(50)
  expect(stdout).toContain('\nThese are the first 50; --json has all of them.\n\norganization')
  expect(changes).toHaveLength(80)
  expect(changes[0]).toMatchObject({ organization: 'acme', change: 'changed', after: 'Renamed' })
  expect(runs).toMatchObject([{ runId: null, inserted: 79 }])
  expect(valueOf(mirror, 'SELECT count(*) FROM changes')).toBe(0)
})
