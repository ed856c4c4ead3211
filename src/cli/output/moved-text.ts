import { processEnvironment } from '../../config/environment.ts'
import { MIRROR_VARIABLE, mirrorOfEnvironment } from '../../config/values/mirror-place.ts'
import { count } from './wording.ts'

/** What was moved: addresses as shown, rows by table, and the setting that leads to the new mirror. */
type MovedFacts = {
  from: string
  to: string
  organizations: number
  replaced: number
  rows: Readonly<Record<string, number>>
  setting: Setting
}

/** Where the mirror is configured, and what is to stand there from now on. */
type Setting = { place: string; line: string }

/** The setting that leads to a mirror: in the configuration, unless the environment overrides it. */
export function settingOf(mirror: string, configFile: string): Setting {
  return mirrorOfEnvironment(processEnvironment()) === undefined
    ? { place: configFile, line: `mirror: ${JSON.stringify(mirror)}` }
    : { place: `the environment of every command and worker`, line: `${MIRROR_VARIABLE}=${mirror}` }
}

/** What was moved, and what is left to do. `isReadOnly`: the server that it was moved from accepts no writes. */
export function movedText(facts: MovedFacts, { isReadOnly }: { isReadOnly: boolean }): string {
  const { from, to, organizations, replaced, rows, setting } = facts
  const of = (table: string, what: string) => count(rows[table] ?? 0, what)
  const lines = [
    `Mirror: ${to}`,
    `Moved from ${from}: ${of('customers', 'customer')} of ${count(organizations, 'organization')}, ${of('changes', 'change')}, ` +
      `${of('runs', 'run')}, ${of('rejects', 'reject')}`,
    'Every row was read again there, and is the same.',
  ]
  if (replaced > 0)
    lines.push(
      `${count(replaced, 'value')} held the character U+0000, which PostgreSQL cannot store: U+FFFD stands in its place.`,
    )
  lines.push(
    ...(isReadOnly
      ? [
          `${from} accepts no writes (a standby, or read-only by its settings): runs are made on another server, and what they have ` +
            'written since is not in this copy.',
          `To have runs go on in this copy, change one line in ${setting.place}:`,
        ]
      : [`${from} is as it was, and runs go on there until you change one line in ${setting.place}:`]),
    `  ${setting.line}`,
    'Then start the worker again. Remove the old mirror when you no longer need it: it holds personal data.',
  )
  return `${lines.join('\n')}\n`
}
