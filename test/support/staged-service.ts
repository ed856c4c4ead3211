import type { Mirror } from '../../src/model/mirror.ts'
import type { Sandbox, SandboxOptions } from '../../src/service/sandbox.ts'
import { onThisMachine } from './busy-machine.ts'
import { syncSandbox, type Syncing } from './mirrored-sandbox.ts'
import { aMirror } from './mirror-file.ts'
import { aSandbox } from './workplace.ts'

/** A service that plays the scenario, and a mirror of it, night by night. */
export async function staged(scenario: string, options: SandboxOptions = {}) {
  const sandbox = await aSandbox({ organizations: 1, scenario, ...options })
  const mirror: Mirror = await aMirror()
  // Only an answer that drips is to take longer than it may; any other comes, however slow the machine is for a moment.
  const requestTimeoutMs = scenario === 'slow-drip' ? onThisMachine(1000) : 60_000
  const nightly = (settings: Syncing = {}) => syncSandbox(sandbox, mirror, { requestTimeoutMs, ...settings })
  return { sandbox, mirror, nightly }
}

/** How often the service was searched. */
export function searches(sandbox: Sandbox): number {
  return sandbox.organization('acme').requests.filter(({ search }) => search !== '').length
}
