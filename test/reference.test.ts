import { expect, test } from 'vitest'
import { referencePage } from './support/reference-page.ts'

test('docs/REFERENCE.md names every setting, error code, reason, warning and metric', async () => {
  await expect(await referencePage()).toMatchFileSnapshot('../docs/REFERENCE.md')
})
