import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors.ts'
import type { Pauses } from '../pause.ts'
import type { Mirror } from '../store.ts'
import type { Io } from './io.ts'

/** The forms that `--format` names. */
export const FORMS = ['table', 'json', 'prometheus'] as const

type Asked = {
  json?: true | undefined
  format?: (typeof FORMS)[number] | undefined
  html?: string | undefined
  output?: string | undefined
}

/** In which form, and in which file; `-` is standard output. */
export function formOf({ json, format, html, output }: Asked): { form: string; file: string } {
  const forms = new Set([json ? 'json' : undefined, html === undefined ? undefined : 'html', format])
  forms.delete(undefined)
  if (forms.size > 1) throw new UsageError('Choose one form: --json, --html or --format.')
  const [form = 'table'] = forms
  if (output !== undefined && form !== 'prometheus')
    throw new UsageError(
      '--output goes with --format prometheus. Other forms: status --json > FILE, status --html FILE',
    )
  return { form, file: html ?? output ?? '-' }
}

/** What the configuration and the clock say. */
type Moment = { config: Config; pauses: Pauses | undefined; nowMs: number }

export async function showMetrics(file: string, io: Io, mirror: Mirror, at: Moment) {
  const { metricsOf, writeMetrics } = await import('./write-metrics.ts')
  if (file === '-') io.stdout.write(await metricsOf(mirror, at))
  else await writeMetrics(file, mirror, at)
}

export async function showPage(file: string, io: Io, mirror: Mirror, at: Moment) {
  const { pageOf, writePage } = await import('./write-page.ts')
  if (file === '-') io.stdout.write(await pageOf(mirror, at))
  else await writePage(file, mirror, at)
}
