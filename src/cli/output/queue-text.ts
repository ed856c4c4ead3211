import { listedNames } from '../../listed-names.ts'
import { ALL } from '../../pause.ts'
import { processWords } from '../../machine/process-name.ts'
import { moment, second } from '../../wording.ts'
import type { Screen } from '../io.ts'
import { plainText } from './say.ts'
import { configOption } from './wording.ts'
import { renderTable } from './table.ts'

type ListedJob = import('../../../jobs/commands/list-jobs.ts').ListedJob
type Line = ListedJob & { percent: number | undefined }
type Paused = { name: string; untilMs: number | undefined; resumed: readonly string[] }

/** The jobs of a queue as a table, and its pauses below. */
export function queueText(
  { lines, paused }: { lines: readonly Line[]; paused: readonly Paused[] },
  { nowMs, screen, config }: { nowMs: number; screen: Screen | undefined; config?: string | undefined },
): string {
  const table =
    lines.length === 0
      ? 'Nothing runs, and nothing waits in the queue.\n'
      : renderTable(
          ['organization', 'run', 'state', 'when (UTC)', ''],
          lines.map((line) => [
            plainText(line.organization),
            line.isQuick ? 'quick' : 'full',
            line.percent === undefined ? line.state : `${line.state} ${line.percent} %`,
            whenWords(line, nowMs),
            noteWords(line),
          ]),
          screen,
        )
  return table + paused.map((each) => pausedLine(each, configOption(config))).join('')
}

function whenWords({ state, sinceMs, untilMs }: Line, nowMs: number): string {
  if (state !== 'delayed') return `since ${shortTime(sinceMs, nowMs)}`
  return untilMs === undefined ? '' : `until ${shortTime(untilMs, nowMs)}`
}

/** Without the date on the same day. */
function shortTime(atMs: number, nowMs: number): string {
  const [at, now] = [second(atMs), second(nowMs)]
  return at.slice(0, 10) === now.slice(0, 10) ? at.slice(11) : at.slice(0, 16)
}

function noteWords({ state, worker, why, failures }: Line): string {
  if (state === 'running') return worker === undefined ? '' : processWords(worker)
  if (state === 'waiting') return 'waits for a worker'
  const words = why === undefined ? '' : WHY[why]
  return why === 'retry' && failures > 0 ? `${words}, ${failures} failed` : words
}

const WHY: Readonly<Record<NonNullable<ListedJob['why']>, string>> = {
  pause: 'paused',
  'rate-limit': 'its service said when',
  retry: 'next attempt',
}

function pausedLine({ name, untilMs, resumed }: Paused, option: string): string {
  const until = untilMs === undefined ? 'until resumed' : `until ${moment(untilMs)}`
  const others = resumed.length === 0 ? '' : ` but ${listedNames(resumed)}`
  return name === ALL
    ? `all organizations${others}: paused ${until}: customer-mirror resume${option}\n`
    : `${name}: paused ${until}: customer-mirror resume ${name}${option}\n`
}
