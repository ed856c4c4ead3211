import { expect, test } from 'vitest'
import { requireHidden } from '../../../src/copies/publish.ts'
import { isHiddenBy } from '../../../src/privacy/privacy-policy.ts'
import { aMirrorOfNights } from '../../support/publishing.ts'
import { tamper } from '../../support/mirror-file.ts'

const STORED = { drop: ['address', 'extra'], hash: ['phone'], mixed: ['email'], keyCheck: 'of a key' }

test.each([
  ['the same fields', { drop: ['address'], hash: ['phone'] }, true],
  ['nothing', { drop: [], hash: [] }, true],
  ['a field of what is dropped as a whole', { drop: ['extra.vat'], hash: [] }, true],
  ['a hash of what is dropped', { drop: [], hash: ['address'] }, true],
  ['a field that is stored as sent', { drop: ['name'], hash: [] }, false],
  ['a hash of one that is stored as sent', { drop: [], hash: ['name'] }, false],
  ['nothing of what is hashed', { drop: ['phone'], hash: [] }, false],
  ['a field that is hidden in part', { drop: [], hash: ['email'] }, false],
])('whether stored values show what is hidden, which is %s', (_, wanted, isHidden) => {
  expect(isHiddenBy(STORED, wanted)).toBe(isHidden)
})

test('a copy is refused only for organizations that are in it and that hide something', async () => {
  const mirror = await aMirrorOfNights()

  await expect(requireHidden({ hidden: { 'new-here': privacyOf('phone') } }, mirror)).resolves.toBeUndefined()
  await expect(requireHidden({}, mirror)).resolves.toBeUndefined()
  await expect(
    requireHidden({ hidden: { acme: privacyOf('phone'), globex: privacyOf('name') } }, mirror),
  ).rejects.toMatchObject({
    code: 'unhidden',
    message: expect.stringContaining('of acme, globex. Nothing was published'),
  })
})

test('values that are rewritten just now are shown by no copy', async () => {
  const mirror = await aMirrorOfNights()
  const hide = (next: string) =>
    `INSERT OR REPLACE INTO privacy_policies (organization, policy, next_policy) VALUES ('acme', '${policyOf('phone')}', ${next})`
  tamper(mirror, hide('NULL'))
  await expect(requireHidden({ hidden: { acme: privacyOf('phone') } }, mirror)).resolves.toBeUndefined()

  tamper(mirror, hide(`'${policyOf('phone')}'`))
  await expect(requireHidden({ hidden: { acme: privacyOf('phone') } }, mirror)).rejects.toMatchObject({
    code: 'unhidden',
  })
})

const privacyOf = (field: string) => ({ drop: [field], hash: [] })
const policyOf = (field: string) => JSON.stringify({ drop: [field], hash: [], mixed: [], keyCheck: null })
