import { moveCommand } from '../../src/cli/move.ts'
import { runCommand, type Done } from './run-command.ts'
import { aWorkplace } from './workplace.ts'

/** Runs `customer-mirror move` with a configuration of this mirror. */
export function move(mirror: string, to: string, ...[option]: ('--json' | AbortSignal)[]): Promise<Done> {
  const { config } = aWorkplace([{ id: 'acme', baseUrl: 'http://127.0.0.1:1', apiKey: 'made-up', secret: 'made-up' }], {
    mirror,
  })
  const json = option === '--json' ? [option] : []
  return runCommand(
    moveCommand,
    ['--to', to, '--config', config, ...json],
    option instanceof AbortSignal ? option : undefined,
  )
}
