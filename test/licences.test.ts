import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from './support/temp-folder.ts'

const ROOT = new URL('../', import.meta.url)
const CHECK = fileURLToPath(new URL('.ci/check-licences.mjs', ROOT))

const PACKAGES: [what: string, licenses: object[], isAllowed: boolean][] = [
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
]

/** In the form of a list, each named for what it is. */
const components = PACKAGES.map(([what, licenses, isAllowed]) => ({
  name: what,
  version: '2.1.0',
  licenses,
  isAllowed,
}))

test('the check of licences names every package that is not allowed, and no other', () => {
  const { status, stderr } = check(components)
  const named = stderr.trimEnd().split('\n')

  expect(status).toBe(1)
  expect(named).toEqual(
    components
      .filter(({ isAllowed }) => !isAllowed)
      .map(({ name }) => expect.stringMatching(new RegExp(`^${name} 2\\.1\\.0: .+`))),
  )
})

test('the check of licences is content with packages that are all allowed', () => {
  expect(check(components.filter(({ isAllowed }) => isAllowed))).toMatchObject({ status: 0, stderr: '' })
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

function check(packages: readonly object[]) {
  const file = join(temporaryFolder(), 'sbom.json')
  writeFileSync(file, JSON.stringify({ bomFormat: 'CycloneDX', components: packages }))
  return spawnSync(process.execPath, [CHECK, file], { encoding: 'utf8' })
}
