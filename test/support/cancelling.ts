import { runCli } from './run-cli.ts'

/** Runs `cancel` for an organization. */
export function cancel(place: { config: string; folder: string }, organization: string) {
  return runCli(['cancel', organization, '--config', place.config], { cwd: place.folder })
}
