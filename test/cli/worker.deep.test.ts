import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { aJobsWorkplace } from '../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

describe('worker --once', () => {
  test('when it is stopped each active organization reports its progress, and the others that they had not begun', async () => {
    const sandbox = await aSandbox({ customers: Array.from({ length: 10 }, () => 4000), latencyMs: 50 })
    const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
    const stop = new AbortController()
    const running = runCli(['worker', '--once', '--config', place.config], { cwd: place.folder, signal: stop.signal })
    const begun = () => (existsSync(place.mirror) ? valueOf(place.mirror, SAVED) : 0)
    await expect.poll(begun).toBe(8)
    stop.abort()
    const { stdout, stderr } = await running
    const runs = rowsOf(place.mirror, 'SELECT organization, received - duplicates AS customers FROM runs')

    expect(runs).toHaveLength(8)
    for (const { organization, customers: read } of runs) {
      const number = Number(read).toLocaleString('en')
      expect(stdout).toMatch(new RegExp(`^${String(organization)} +interrupted +${number} `, 'm'))
      expect(stderr).toContain(`■ ${String(organization)}: stopped\n  ${number} customers read so far are saved`)
    }
    expect(stderr.match(/: stopped\n {2}stopped as asked\. It had not begun\.$/gm)).toHaveLength(2)
  })
})

/** Organizations of which a page is saved. */
const SAVED = 'SELECT count(*) FROM runs WHERE pages > 0'
