import { factsOf, isOurs, SourceRefused } from '../../errors/errors.ts'

/** The name of a failure, in a few words, and what to do about it. */
export type Explanation = { title: string; fix: string }

/** Services that check the timestamp refuse clocks this far apart. */
const STALE_CLOCK_MS = 5000

/** Explains an error that prevents mirroring an organization. `<organization>` is a placeholder for its id. */
export function explainFailure(error: unknown): Explanation {
  const { title, fix } = factsOf(error)
  return (isOurs(error) ? explainByWords(error) : undefined) ?? { title, fix }
}

/** A more exact explanation, from the error's message; undefined if there is none. */
function explainByWords(error: { code: string; message: string }): Explanation | undefined {
  if (error instanceof SourceRefused) return explainUnauthorized(error) ?? explainHtml(error)
  if (error.code === 'tls' && / without TLS/.test(error.message)) {
    return { title: 'not an https port', fix: 'Check the port in baseUrl: https needs the port that speaks TLS.' }
  }
  if (error.code === 'network' && /: the (headers of the )?answer /.test(error.message)) {
    return { title: 'unreadable answer', fix: 'Check the address and the port in baseUrl, and any proxy in between.' }
  }
  if (error.code === 'bad-answer' && / answered 304 /.test(error.message)) {
    return {
      title: 'not modified',
      fix: 'Configure the cache or proxy in between to forward these requests to the service.',
    }
  }
  return undefined
}

/** Proxies and firewalls refuse in HTML, and some services do. */
function explainHtml(error: SourceRefused): Explanation | undefined {
  if (!/ with HTML instead of JSON/.test(error.message)) return undefined
  const { title, fix } = factsOf(error)
  return { title: `${title}, or a proxy in between`, fix: `Find out what answered, a proxy or the service. ${fix}` }
}

function explainUnauthorized({ code, said, clockOffsetMs }: SourceRefused): Explanation | undefined {
  if (code !== 'unauthorized') return undefined
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
