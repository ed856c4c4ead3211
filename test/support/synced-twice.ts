import { syncCommand } from '../../src/cli/sync.ts'
import { list, type FaultServer, type Reply } from './fault-server.ts'
import { onlyRun, type SyncRun } from './json-output.ts'
import { dump } from './mirror-file.ts'
import { runCommand } from './run-command.ts'
import { aFaultServer, aWorkplace, organizationAt } from './workplace.ts'

/** For answers that come, however busy the machine is. */
export const PATIENT = { defaults: { maxWait: '0s', requestTimeout: '1m' } }

/** Syncs against a server that has answered three customers once and then does as the case has it. */
export async function syncTwice(
  reply: Reply,
  settings: Parameters<typeof aWorkplace>[1] = PATIENT,
): Promise<{ code: number; run: SyncRun; said: string; mirror: string; server: FaultServer; before: object }> {
  const server = await aFaultServer(list(3), reply)
  const { config: patient, mirror } = aWorkplace([organizationAt(server)], PATIENT)
  const { config } = aWorkplace([organizationAt(server)], { ...settings, mirror })
  await runCommand(syncCommand, ['--config', patient])
  const before = dump(mirror, ['customers', 'changes'])
  const { code, stdout, stderr } = await runCommand(syncCommand, ['--json', '--config', config])
  return { code, run: onlyRun(stdout), said: stdout + stderr, mirror, server, before }
}
