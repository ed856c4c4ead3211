import {
  ConfigError,
  ContractBroken,
  MaxRunReached,
  MirrorUnusable,
  OrganizationHeld,
  QueueUnavailable,
  RateLimited,
  SourceRefused,
  SourceUnavailable,
} from '../errors.ts'

/** What a failure is, in a few words, and what to do about it. */
export type Explanation = { title: string; fix: string }

/** Clocks this far apart are refused by services that check the timestamp. */
const STALE_CLOCK_MS = 5000

/** Explains an error that kept, or would keep, an organization from being mirrored. `<organization>` stands for its id. */
export function explainFailure(error: unknown): Explanation {
  if (error instanceof SourceRefused) return explainRefusal(error)
  if (error instanceof RateLimited) {
    return {
      title: 'throttled',
      fix: 'Nothing to do: a sync waits for it. If it happens often, set rateLimit.requestsPerMinute below the limit.',
    }
  }
  if (error instanceof SourceUnavailable) return explainUnavailable(error)
  if (error instanceof ContractBroken) {
    if (error.code === 'tenant-mixup') {
      return {
        title: 'customers of another organization',
        fix: 'Give this organization its own apiKey, secret and baseUrl; if its id is new, put the old one back.',
      }
    }
    if (/ answered 304 /.test(error.message)) {
      return { title: 'not modified', fix: 'Have the cache or proxy in between pass these requests on to the service.' }
    }
    return {
      title: error.code === 'redirect' ? 'redirected' : 'not the documented answer',
      fix: 'Check that baseUrl is the final address of the interface itself: https, the right host, ending in /api/v1.',
    }
  }
  if (error instanceof ConfigError)
    return { title: 'not configured', fix: 'Set the variable or write the file named above.' }
  if (error instanceof MaxRunReached) {
    return {
      title: 'took as long as it may',
      fix: 'Nothing to do: the next run goes on from there. If it happens often, raise maxRun, concurrency or requestsPerMinute.',
    }
  }
  if (error instanceof OrganizationHeld) return { title: 'busy', fix: 'Wait for the other run to end.' }
  if (error instanceof MirrorUnusable) return { title: 'mirror', fix: MIRROR_FIXES[error.code] ?? MIRROR_FIX }
  if (error instanceof QueueUnavailable) return { title: 'queue', fix: 'Mend the queue named above, then try again.' }
  return { title: 'unexpected', fix: 'Please report it.' }
}

const MIRROR_FIX = 'Mend or move the file named above, or name another one as mirror in the configuration.'
const MIRROR_FIXES: Readonly<Record<string, string>> = {
  'mirror-locked': 'Close the program that has the mirror open, or try again when it is done.',
  'mirror-full': 'Free some space, then try again.',
  'mirror-replaced': 'Sync again; stop everything that writes to the mirror before it is moved or put back.',
}

function explainRefusal({ code, said, clockOffsetMs }: SourceRefused): Explanation {
  if (code === 'forbidden') {
    return {
      title: 'plan forbids',
      fix: 'Ask the service to include listing customers in the plan of this organization.',
    }
  }
  if (code === 'not-found') {
    return {
      title: 'not found',
      fix: 'Check baseUrl: the subdomain is that of the organization, the path ends in /api/v1.',
    }
  }
  if (code === 'unprocessable') return { title: 'request not accepted', fix: 'Lower pageSize, for example to 50.' }
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
  return {
    title: 'bad key, wrong secret or wrong recipe',
    fix: "Check apiKey and secret; 'customer-mirror signing explain <organization>' shows what is signed.",
  }
}

function explainUnavailable({ code, message }: SourceUnavailable): Explanation {
  if (code === 'tls' && / without TLS/.test(message)) {
    return { title: 'not an https port', fix: 'Check the port in baseUrl: https needs the port that speaks TLS.' }
  }
  if (code === 'tls') {
    return {
      title: 'certificate not trusted',
      fix: 'Check the host name, and that this machine knows its certificate authority.',
    }
  }
  if (code === 'network') return { title: 'unreachable', fix: 'Check baseUrl, the network, and any firewall or proxy.' }
  if (code === 'timeout') return { title: 'too slow', fix: 'Try again, or raise requestTimeout.' }
  return {
    title: 'service failing',
    fix: 'Nothing to do here; the service has to recover. A sync asks again by itself.',
  }
}
