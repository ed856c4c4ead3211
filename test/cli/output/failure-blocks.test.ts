import { expect, test } from 'vitest'
import { failureBlocks } from '../../../src/cli/output/failure-blocks.ts'
import { heldWarning } from '../../../src/cli/output/advice.ts'
import { describeError, Interrupted, MaxRunReached, MirrorUnusable } from '../../../src/errors/errors.ts'
import { emptyReport, type RunStatus } from '../../../src/model/report.ts'

const HOUR_MS = 3_600_000
const organizations = [{ id: 'acme', scan: 'chain', resumeWithinMs: 6 * HOUR_MS }] as const

function blockOf(error: Error, status: RunStatus, config?: string): string {
  const report = {
    ...emptyReport({ organization: 'acme', trigger: 'sync', startedAtMs: 10 * HOUR_MS }),
    ...{ status, runId: 7, received: 200, inserted: 200, readAsOfMs: 0, finishedAtMs: 12 * HOUR_MS },
    error: describeError(error),
  }
  return failureBlocks([{ report, error }], { organizations, dryRun: false, config })
}

test('a run that reached maxRun reports it, and until when it can be continued: counted from its end', () => {
  const block = blockOf(new MaxRunReached('acme: the run was ended after 6h. Raise maxRun.'), 'interrupted')

  expect(block).toContain('■ acme: reached six hours\n  the run was ended after 6h. Raise maxRun.\n')
  expect(block.replaceAll(/\s+/g, ' ')).toContain('continues from here, if it starts before 1970-01-01 18:00 UTC.')
})

test('a stopped run reports what is saved, and until when it can be continued: counted from when its scan began', () => {
  const block = blockOf(new Interrupted('acme: stopped as asked.'), 'interrupted')

  expect(block).toContain('■ acme: stopped\n  200 customers read so far are saved;')
  expect(block.replaceAll(/\s+/g, ' ')).toContain('continues from here, if it starts before 1970-01-01 06:00 UTC.')
})

test('no command refers to a run whose mirror was replaced', () => {
  const block = blockOf(new MirrorUnusable('/data/customers.db: was replaced', { code: 'replaced' }), 'failed')

  expect(block).toContain('✖ acme: ')
  expect(block).not.toContain('runs show')
})

test.each([
  [undefined, ''],
  ['other.yaml', ' --config other.yaml'],
  ["it's here.yaml", String.raw` --config 'it'\''s here.yaml'`],
])('shown commands name the configuration %s', (config, option) => {
  const block = blockOf(new MaxRunReached('acme: ended.'), 'interrupted', config)
  const warning = heldWarning([{ runId: 7, organization: 'acme', held: 2, startedAtMs: 0 }], config)

  expect(block).toContain(`  customer-mirror runs show 7${option}\n`)
  for (const command of ['runs show 7', 'removals show acme', 'removals approve acme', 'removals discard acme'])
    expect(warning).toContain(`  customer-mirror ${command}${option}\n`)
})
