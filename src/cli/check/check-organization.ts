import { processEnvironment } from '../../config/environment.ts'
import type { Organization } from '../../config/organization.ts'
import { codeOf } from '../../errors/faults.ts'
import { isOurs } from '../../errors/errors.ts'
import { monotonicMs } from '../../machine/monotonic-clock.ts'
import { openConfiguredSource } from '../../run-organization.ts'
import { sizeAfterRefusal } from '../../scan/plan/page-sizes.ts'
import type { CustomersPage, Source } from '../../source/customers.ts'
import type { Finding } from './finding.ts'
import { explainFailure } from '../output/explain-failure.ts'
import { count, duration } from '../output/wording.ts'
import { unusedProxy } from './unused-proxy.ts'

/** Asks one organization for its first page as a run does, without waiting, and reports what the answer means. */
export async function checkOrganization(organization: Organization, signal: AbortSignal): Promise<Finding> {
  const what = organization.id
  try {
    const source = await openConfiguredSource(organization, {
      rateLimits: new Map(),
      longestWaitMs: 0,
      now: Date.now,
      monotonicMs,
      random: Math.random,
    })
    try {
      return { what, decides: true, ...answered(await firstPage(source, organization.pageSize, signal), source) }
    } finally {
      await source.close()
    }
  } catch (error) {
    if (signal.aborted) return { what, said: 'stopped before it answered' }
    if (!isOurs(error)) throw error
    const { title, fix } = explainFailure(error)
    const named = fix.replaceAll('<organization>', organization.id) + unusedProxy(error, processEnvironment())
    return { what, said: `${title}. ${error.message}`, error, fix: named }
  }
}

type FirstPage = CustomersPage & { refusedSize?: number }

/** The first page; in the size that a run tries next, where the service refuses that of the configuration. */
async function firstPage(source: Source, size: number, signal: AbortSignal): Promise<FirstPage> {
  try {
    return await source.probe(size, { signal })
  } catch (error) {
    const smaller = codeOf(error) === 'unprocessable' ? sizeAfterRefusal(size) : undefined
    if (smaller === undefined) throw error
    return { ...(await source.probe(smaller, { signal })), refusedSize: size }
  }
}

function answered(page: FirstPage, { clockOffsetMs, clockCorrectionMs }: Source): Omit<Finding, 'what'> {
  const { total, size, askedSize, refusedSize } = page
  const received = page.records().length
  const refused = refusedSize === undefined ? '' : `; it refuses pages of ${refusedSize} and serves ${askedSize}`
  const capped = size < askedSize ? `; the service caps pages at ${size}` : ''
  const signed = clockCorrectionMs === 0 ? '' : ', and requests are signed with its time'
  const said = `answered, ${customersWords(total, received)}${refused}${capped}, ${clockWords(clockOffsetMs)}${signed}`
  if (isLeftEmpty(total, received)) return { said, isWarning: true, fix: EMPTY_FIX }
  return clockCorrectionMs === 0 ? { said } : { said, isWarning: true, fix: CLOCK_FIX }
}

const EMPTY_FIX = 'Ask the owner of the service why its list is empty, and look for a cache or a proxy in between.'
const CLOCK_FIX =
  'Set the clock of this machine (timedatectl set-ntp true). If it is right, report it to the owner of the service.'

function customersWords(total: number | undefined, received: number): string {
  if (total === undefined) return `${received} on the first page`
  return `${count(total, 'customer')}${isLeftEmpty(total, received) ? ' by its total, and none on the first page' : ''}`
}

function isLeftEmpty(total: number | undefined, received: number): boolean {
  return received === 0 && (total ?? 0) > 0
}

function clockWords(offsetMs: number | undefined): string {
  if (offsetMs === undefined) return 'clock unknown'
  if (Math.abs(offsetMs) < 2000) return 'clocks agree'
  return `its clock is ${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? 'ahead of' : 'behind'} ours`
}
