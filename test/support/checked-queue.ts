import { checkCommand } from '../../src/cli/check.ts'
import { runCommand } from './run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

/** What `check` says of an organization that answers, with these settings. */
export async function checked(settings: Parameters<typeof aWorkplace>[1]) {
  const { config } = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })), settings)
  return runCommand(checkCommand, ['--config', config])
}
