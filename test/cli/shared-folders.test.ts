import { chmodSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import { customers } from '../support/builders.ts'
import { mirrorPages } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { aWorkplace, type Workplace } from '../support/workplace.ts'

let here: Workplace

beforeEach(async () => {
  here = aWorkplace([{ id: 'acme', baseUrl: 'http://127.0.0.1:1/api/v1', apiKey: 'key', secret: 'made-up' }])
  const mirror = await openMirror(here.mirror)
  await mirrorPages(mirror, [customers(1, 5)])
  await mirror.close()
})

test.each([
  ['a backup', ['backup', 'shared/b.db']],
  ['an export', ['export', '--format', 'csv', '-o', 'shared/e.csv']],
  ['a folder of partitions', ['export', '--to', 'shared', '--partition', 'organization']],
  ['a copy', ['publish', 'shared/c.db']],
])(
  '%s is refused in a folder that others may write, with what to do, and written in one of its own',
  async (_, args) => {
    const folder = join(here.folder, 'shared')
    mkdirSync(folder, { recursive: true })
    chmodSync(folder, 0o775)
    const refused = await runCli(args, { cwd: here.folder })
    const left = readdirSync(folder)
    chmodSync(folder, 0o755)

    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/shared: users besides its owner may write there, and could replace .*chmod go-w /),
    })
    expect(left).toEqual([])
    expect(await runCli(args, { cwd: here.folder })).toMatchObject({ code: 0 })
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([])
  },
)
