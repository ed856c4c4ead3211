import { ContractBroken, SourceRefused, SourceUnavailable } from '../errors/errors.ts'
import type { Certificate } from '../scan/scan.ts'
import type { StoppedAt, Window } from '../scan/window.ts'
import { windowFailureOf } from '../errors/errors.ts'

type Failure = StoppedAt['failure']

/** Remembers why windows could not be read: a scan that never came to the end of the list ends its run with that error. */
export type ReadingErrors = {
  /** Reads one page, and remembers the error or the 404 that answered. */
  watch<Page extends { refusal?: SourceRefused | undefined }>(page: Promise<Page>): Promise<Page>
  /** Throws the service's error that kept the scan from the end of the list, if there is one. */
  refuseUnfinished(certificate: Certificate): void
}

/** Keeps the latest error of each kind of failure. */
export function readingErrors(organization: string): ReadingErrors {
  const errors = new Map<Failure, unknown>()
  return {
    async watch(reading) {
      try {
        const page = await reading
        if (page.refusal !== undefined) errors.set('not-found', page.refusal)
        return page
      } catch (error) {
        const failure = windowFailureOf(error)
        if (failure !== undefined) errors.set(failure, error)
        throw error
      }
    },
    refuseUnfinished({ stoppedAt }) {
      if (stoppedAt === undefined) return
      throw errors.get(stoppedAt.failure) ?? errorOf(stoppedAt, organization)
    },
  }
}

/** The error of a window whose answer was found wrong only by comparison with others. */
function errorOf({ window, failure }: StoppedAt, organization: string): Error {
  const message = `${placeOf(window, organization)} ${WHAT[failure]} ${ADVICE}${ONE_SIZE[failure] ?? ''}`
  if (failure === 'hole') return new SourceUnavailable(message, { code: 'server-error' })
  if (failure === 'size-refused') return new SourceRefused(message, { code: 'unprocessable', status: 422 })
  return new ContractBroken(message, { code: CODES[failure] })
}

function placeOf({ page, size }: Window, organization: string): string {
  return `${organization}: the answer for page ${page}, per_page ${size},`
}

const WHAT: Record<Failure, string> = {
  hole: 'was an error at every attempt.',
  'size-refused': 'was that its size is not served.',
  'page-mismatch': 'had another page, or another size, than the one asked for.',
  'repeated-page': 'held the customers of another page.',
  'cached-answer': 'came out of a cache.',
  'too-large': 'was larger than an answer may be.',
  'not-found': 'held no customers, although the total promises more.',
  'page-cap': 'is one more than the list can need: it has no end.',
}
const CODES = {
  'page-mismatch': 'page-mismatch',
  'repeated-page': 'repeated-page',
  'cached-answer': 'cached-answer',
  'too-large': 'too-large',
  'not-found': 'page-mismatch',
  'page-cap': 'page-cap',
} as const
const ADVICE =
  'The list was not read to its end; what was read is kept. Look for a cache or a proxy in between, then sync again.'
const BY_SIZE = ' If the service serves only one page size, `scan: plain` with that pageSize reads it, without a proof.'
const ONE_SIZE: Partial<Record<Failure, string>> = { 'size-refused': BY_SIZE, 'page-mismatch': BY_SIZE }
