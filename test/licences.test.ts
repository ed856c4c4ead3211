import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from './support/temp-folder.ts'

const ROOT = new URL('../', import.meta.url)
const CHECK = fileURLToPath(new URL('.ci/check-licences.mjs', ROOT))

test.each([
  ['a licence of the list', [{ license: { id: 'MIT' } }], true],
  ['a licence to choose', [{ expression: '(GPL-3.0-only OR MIT)' }], true],
  ['two that are of the list', [{ expression: 'MIT AND ISC' }], true],
  ['another licence', [{ license: { id: 'GPL-3.0-only' } }], false],
  ['a licence by its name only', [{ license: { name: 'Commons Clause' } }], false],
  ['one of the list and another that holds too', [{ license: { id: 'MIT' } }, { license: { id: 'SSPL-1.0' } }], false],
  ['a choice and another that holds too', [{ expression: 'MIT OR ISC' }, { license: { id: 'SSPL-1.0' } }], false],
  ['an expression with another that holds too', [{ expression: 'MIT AND SSPL-1.0' }], false],
  ['an expression that is nested', [{ expression: '(MIT OR (GPL-2.0-only AND SSPL-1.0))' }], false],
  ['a nested expression without a free choice', [{ expression: '((MIT OR ISC) AND SSPL-1.0)' }], false],
  ['no licence', [], false],
])('the check of licences, with a package with %s', (_, licenses, isAllowed) => {
  const { status, stderr } = check([
    { name: 'fine', version: '1.0.0', licenses: [{ license: { id: 'ISC' } }] },
    { name: 'made-up', version: '2.1.0', licenses },
  ])

  expect(status).toBe(isAllowed ? 0 : 1)
  if (isAllowed) expect(stderr).toBe('')
  else expect(stderr).toMatch(/^made-up 2\.1\.0: .+\n$/)
})

test('a list without packages is no proof', () => {
  expect(check([])).toMatchObject({ status: 1, stderr: expect.stringContaining('lists no packages') })
})

test('every change is checked, on the list that npm makes of production packages', () => {
  const run = readFileSync(new URL('.ci/run', ROOT), 'utf8')
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))

  expect(run).toMatch(/^step npm run sbom\nstep node \.ci\/check-licences\.mjs sbom\.cdx\.json$/m)
  expect(scripts.sbom).toMatch(/^npm sbom --sbom-format=cyclonedx .*--omit=dev .*> sbom\.cdx\.json$/)
})

function check(components: readonly object[]) {
  const file = join(temporaryFolder(), 'sbom.json')
  writeFileSync(file, JSON.stringify({ bomFormat: 'CycloneDX', components }))
  return spawnSync(process.execPath, [CHECK, file], { encoding: 'utf8' })
}
