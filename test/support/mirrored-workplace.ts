import { syncCommand } from '../../src/cli/sync.ts'
import { runCommand } from './run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

export async function aMirroredWorkplace(counts = [12]) {
  const organizations = organizationsOf(await aSandbox({ customers: counts }))
  const workplace = aWorkplace(organizations)
  await runCommand(syncCommand, ['--config', workplace.config])
  return { ...workplace, organizations }
}
