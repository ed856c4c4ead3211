import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Where .ci/run puts the program of Debian's package. */
const CACHED = fileURLToPath(new URL('../../node_modules/.cache/promtool/usr/bin/promtool', import.meta.url))

/** Prometheus's own checker; undefined where there is none. */
export const PROMTOOL = [CACHED, 'promtool'].find((file) => spawnSync(file, ['--version']).status === 0)

/** What promtool has to complain of; '' if nothing. */
export function promtool(args: readonly string[], input = ''): string {
  if (PROMTOOL === undefined) return ''
  try {
    execFileSync(PROMTOOL, args, { input, encoding: 'utf8', stdio: 'pipe' })
    return ''
  } catch (error) {
    return String(error)
  }
}
