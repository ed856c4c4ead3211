import { rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/read-config.ts'
import { listCopiesLeft } from '../../src/copies/copies-left.ts'
import { aMirror } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { aWorkplace } from '../support/workplace.ts'

const ACME = { id: 'acme', baseUrl: 'http://127.0.0.1:1', apiKey: 'key', secret: 'secret' }

test('copies that can be listed no more are those that were there before, and where there is no list at first it is an error', async () => {
  const { config, copy } = await aPublishedCopy()
  const copiesLeft = listCopiesLeft(config, 'acme')
  rmSync(dirname(copy), { recursive: true })
  writeFileSync(dirname(copy), '')

  expect(copiesLeft()).toEqual({ copies: [copy], replaced: [] })
  expect(() => listCopiesLeft(config, 'acme')).toThrow(/not a directory \(\w+, ENOTDIR\)/)
})

async function aPublishedCopy() {
  const { file: mirror } = await aMirror()
  const plan = aPlan(mirror)
  const copy = plan.file
  publishAll(plan)
  const place = aWorkplace([ACME], { publish: { file: copy, keep: 3 } })
  const config = await readConfig({ file: place.config, cwd: '/' })
  return { config, copy }
}
