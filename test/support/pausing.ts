import { aJobsWorkplace } from './jobs-workplace.ts'
import { runCommand } from './run-command.ts'
import { aSandbox, organizationsOf } from './workplace.ts'

/** A moment as commands show it. */
export const MOMENT = /\d{4}-\d\d-\d\d \d\d:\d\d UTC/g

/** A folder with a configuration whose queue no other test sees. */
export async function aPlace(settings: Parameters<typeof aJobsWorkplace>[1] = {}) {
  const { config } = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [3, 2] })), settings)
  const ask = async (command: Parameters<typeof runCommand>[0], ...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(command, [...args, '--config', config])
    return { code, stdout: stdout.replaceAll(MOMENT, 'MOMENT'), stderr }
  }
  return { config, ask }
}
