import { UsageError } from '../../errors/errors.ts'

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
