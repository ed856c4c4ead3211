import { factsOf, isOurs, SourceRefused } from '../../errors.ts'

/** What a failure is, in a few words, and what to do about it. */
export type Explanation = { title: string; fix: string }

/** Clocks this far apart are refused by services that check the timestamp. */
const STALE_CLOCK_MS = 5000

/** Explains an error that kept, or would keep, an organization from being mirrored. `<organization>` stands for its id. */
export function explainFailure(error: unknown): Explanation {
  const { title, fix } = factsOf(error)
  return (isOurs(error) ? explainByWords(error) : undefined) ?? { title, fix }
}

/** What is known better than by the code alone. */
function explainByWords(error: { code: string; message: string }): Explanation | undefined {
  if (error instanceof SourceRefused && error.code === 'unauthorized') return explainUnauthorized(error)
  if (error.code === 'tls' && / without TLS/.test(error.message)) {
    return { title: 'not an https port', fix: 'Check the port in baseUrl: https needs the port that speaks TLS.' }
  }
  if (error.code === 'status' && / answered 304 /.test(error.message)) {
    return { title: 'not modified', fix: 'Have the cache or proxy in between pass these requests on to the service.' }
  }
  return undefined
}

function explainUnauthorized({ said, clockOffsetMs }: SourceRefused): Explanation | undefined {
  if (clockOffsetMs !== undefined && Math.abs(clockOffsetMs) > STALE_CLOCK_MS) {
    return { title: 'stale clock', fix: 'Set the clock of this machine (timedatectl set-ntp true), then check again.' }
  }
  if (/time|clock|expired|skew/i.test(said)) {
    return { title: 'stale clock', fix: 'Check signing.timestamp (s, ms or iso), and set the clock of this machine.' }
  }
  if (/sign|hmac|digest/i.test(said)) {
    return {
      title: 'wrong recipe, or wrong secret',
      fix: "Compare 'customer-mirror signing explain <organization>' with the service's own example, or let 'customer-mirror signing solve' find the recipe.",
    }
  }
  if (/key/i.test(said)) {
    return { title: 'bad key', fix: 'Check apiKey: the value it refers to must be the key of this organization.' }
  }
  return undefined
}
