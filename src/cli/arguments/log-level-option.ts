import { Option } from '@commander-js/extra-typings'

/** `--log-level`, for commands that can write a log. */
export function logLevelOption(about: string) {
  return new Option('--log-level <level>', about).choices(['debug', 'info', 'warn', 'error'])
}
