import { checkCommand } from '../../src/cli/check.ts'
import { runCommand, type Done } from './run-command.ts'
import { type Workplace } from './workplace.ts'

/** Runs `check` for these organizations, or for all. */
export const check = ({ config }: Workplace, ...ids: string[]): Promise<Done> =>
  runCommand(checkCommand, [...ids, '--config', config])
