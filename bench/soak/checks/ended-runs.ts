import type { StoredRun } from '../read-mirror.ts'

/** Runs that did not end as a run must: with a certificate, or with a reason, and with numbers that add up. */
export function badlyEnded(runs: readonly StoredRun[]): string[] {
  return runs.flatMap((run) => problems(run).map((problem) => `${run.organization}: run ${run.id} ${problem}`))
}

function problems({
  status,
  certificate,
  error_code,
  error,
  unaccounted,
  held,
  isQuick,
  finishedMs,
}: StoredRun): string[] {
  const hasEnded = status !== 'running'
  const needsCertificate = status === 'complete' && !isQuick
  const found: (string | false)[] = [
    !hasEnded && 'never ended',
    hasEnded && Number.isNaN(finishedMs) && `is ${status} and has no end`,
    needsCertificate && certificate === null && 'is complete and has no certificate',
    (status === 'failed' || status === 'interrupted') && error_code === null && `is ${status} and has no reason`,
    UNEXPECTED.has(error_code ?? '') && `ended with ${error_code}: ${error ?? ''}`,
    unaccounted !== 0 && `does not account for ${unaccounted} records`,
    held > 0 && `held back ${held} removals`,
  ]
  return found.filter((problem) => typeof problem === 'string')
}

/** Codes that stand for a defect: the service of the soak is slow and fails, and never lies. */
const UNEXPECTED = new Set(['unexpected', 'accounting-broken', 'tenant-mixup', 'list-suddenly-empty'])
