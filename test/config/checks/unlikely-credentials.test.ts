import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SecretReference } from '../../../src/config/organization.ts'
import { unlikelyCredentials } from '../../../src/cli/check/check-organization.ts'
import { DEFAULT_PRESET, recipeOf } from '../../../src/source/signing/signing.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

const KEY: SecretReference = { literal: 'made-up-key' }

function found(secret: SecretReference, environment = {}) {
  return unlikelyCredentials({ id: 'acme', apiKey: KEY, secret, signing: recipeOf(DEFAULT_PRESET) }, environment)
}

test.each(['$ACME_SECRET', '${ACME_SECRET}', 'env:ACME_SECRET', 'file:/run/secrets/acme'])(
  'a text in the configuration that names a place is used as it stands: %s',
  async (literal) => {
    const [secret, ...more] = await found({ literal })

    expect(more).toEqual([])
    expect(secret).toMatchObject({ what: 'secret', fix: expect.stringContaining('{ env: NAME }') })
    expect(JSON.stringify(secret)).not.toContain(literal)
  },
)

test.each(['ACME_SECRET=hunter2', 'export ACME_SECRET=hunter2', 'acme_secret="hunter2"'])(
  'a line of an env file is no secret: %s',
  async (text) => {
    const file = join(temporaryFolder(), 'acme')
    writeFileSync(file, `${text}\n`, { mode: 0o600 })

    for (const [reference, place] of [
      [{ file }, file],
      [{ env: 'ACME' }, 'the variable ACME'],
    ] as const) {
      const [secret] = await found(reference, { ACME: text })

      expect(secret?.said).toContain(`${place} holds NAME=value`)
      expect(JSON.stringify(secret)).not.toContain('hunter2')
    }
  },
)

test.each(['made-up-secret', 'c2VjcmV0LTEyMw==', 'c2VjcmV0LTEyMzQ=', 'a=b', '$', 'pa$$word', '12=34'])(
  'nothing is said of %s',
  async (text) => {
    expect(await found({ literal: text })).toEqual([])
    expect(await found({ env: 'ACME' }, { ACME: text })).toEqual([])
  },
)

test('nothing is said of a secret that cannot be read', async () => {
  expect(await found({ env: 'ACME' })).toEqual([])
})
