import { expect, test } from 'vitest'
import { syncCommand, prunedText, unprunedText } from '../../../src/cli/sync.ts'
import { emptyReport, type Pruned } from '../../../src/model/report.ts'
import { rowsOf, tamper } from '../../support/mirror-file.ts'
import { runCommand } from '../../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../../support/workplace.ts'

const NOTHING: Pruned = {
  ...{ changes: 0, resolvedRejects: 0, runs: 0, removedCustomers: 0 },
  isUnfinished: false,
  error: undefined,
}

test.each<[Partial<Pruned>, string, string]>([
  [{ changes: 1 }, 'acme: deleted 1 change, older than retention keeps them\n', ''],
  [
    { changes: 2500, removedCustomers: 3, resolvedRejects: 2, runs: 1, isUnfinished: true },
    'acme: deleted 2,500 changes, 3 removed customers, 2 resolved rejects, 1 run, older than retention keeps them; the next run continues\n',
    '',
  ],
  [
    { isUnfinished: true, error: { code: 'full', message: 'The disk is full.' } },
    '',
    '! acme: old rows were not deleted, and the next run tries again. The disk is full.\n',
  ],
])('what retention did is said in words (%j)', (pruned, done, failed) => {
  const report = {
    ...emptyReport({ organization: 'acme', trigger: 'sync', startedAtMs: 0 }),
    pruned: { ...NOTHING, ...pruned },
  }

  expect([prunedText([report]), unprunedText([report])]).toEqual([done, failed])
})

test('a sync deletes what the configuration no longer keeps, and says so as text and as JSON', async () => {
  const organizations = organizationsOf(await aSandbox({ customers: [12] }), { retention: { changes: '30d' } })
  const { config, mirror } = aWorkplace(organizations)
  await runCommand(syncCommand, ['--config', config])
  const insert = `INSERT INTO changes (run_id, organization, id, change, changed_at) VALUES (1, 'acme', 'x', 'changed', '2020-01-01 00:00:00.000')`
  tamper(mirror, insert)
  const text = await runCommand(syncCommand, ['--config', config])
  tamper(mirror, insert)
  const json = await runCommand(syncCommand, ['--config', config, '--json'])

  expect(text.stdout).toContain('acme: deleted 1 change, older than retention keeps them\n')
  expect(JSON.parse(json.stdout).runs).toMatchObject([{ pruned: { changes: 1, isUnfinished: false, error: null } }])
  expect(rowsOf(mirror, 'SELECT feed_seq FROM horizons')).toEqual([{ feed_seq: 2 }])
})
