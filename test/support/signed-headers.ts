import {
  createSigner,
  type Credentials,
  type Moment,
  type Recipe,
  type SignableRequest,
} from '../../src/source/signing/signing.ts'

/** The headers that sign one request. */
export function signedHeaders(
  request: SignableRequest,
  credentials: Credentials,
  moment: Moment,
  recipe: Recipe,
): Record<string, string> {
  return createSigner(credentials, recipe)(request, moment)
}
