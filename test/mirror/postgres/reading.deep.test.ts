import { expect, onTestFinished, test } from 'vitest'
import { postgresPrograms, startPostgres } from '../../../bench/postgres-server.ts'
import { openMirror } from '../../../src/mirror/mirror.ts'
import { customers } from '../../support/builders.ts'
import { mirrorPages } from '../../support/mirror-file.ts'

test.skipIf(postgresPrograms() === undefined)(
  'first runs of several workers that end at the same moment are all complete',
  async () => {
    const server = await startPostgres()
    onTestFinished(() => server.close())
    const mirrors = await Promise.all(Array.from({ length: 6 }, () => openMirror(server.url)))
    for (const mirror of mirrors) onTestFinished(() => mirror.close())

    const reports = await Promise.all(
      mirrors.map((mirror, index) => mirrorPages(mirror, [customers(1, 40)], { organization: `org-${index}` })),
    )

    expect(reports.map(({ status }) => status)).toEqual(mirrors.map(() => 'complete'))
  },
)
