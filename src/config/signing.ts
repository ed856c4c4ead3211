import { z } from 'zod'
import { DEFAULT_PRESET, FORMS, PRESET_NAMES, PRESETS, templateProblem, USUAL } from '../signing/signing.ts'
import type { Recipe } from '../signing/signing.ts'
import { refusing, setting } from './values.ts'

/** How requests are signed, in the configuration: a preset or a template, and settings that differ from the default. */
export const signing = z
  .strictObject({
    preset: setting(
      z.enum(PRESET_NAMES),
      'The string to sign, by the name of a known form. Excludes template. Change it where the service answers 401.',
      { default: DEFAULT_PRESET },
    ),
    template: setting(
      z.string().max(1000, 'must not be longer than 1,000 characters').check(refusing(writtenTemplateProblem)),
      'The string to sign, with tokens such as {METHOD}, {target}, {ts} and {body}. Excludes preset. Set it where no preset fits.',
      { examples: ['{METHOD}\n{path}\n{ts}'] },
    ),
    encoding: setting(z.enum(FORMS.encoding), 'How the signature is written. Change it where signing solve says so.', {
      default: USUAL.encoding,
    }),
    prefix: setting(
      z
        .string()
        .regex(/^(?:[!-~][ -~]{0,63})?$/, 'must be at most 64 printable ASCII characters, the first of them no space'),
      'Text before the signature, such as "sha256=". Set it where signing solve says so.',
      { default: USUAL.prefix },
    ),
    secretEncoding: setting(
      z.enum(FORMS.secretEncoding),
      'How the secret is turned into the bytes of the key. Change it where signing solve says so.',
      { default: USUAL.secretEncoding },
    ),
    timestamp: setting(
      z.enum(FORMS.timestamp),
      'The time of a request: Unix seconds, Unix milliseconds or ISO 8601. Change it where the service does.',
      { default: USUAL.timestamp },
    ),
    nonceHeader: setting(
      z
        .string()
        .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, 'must be the name of a header, such as X-Nonce')
        .refine((text) => !OURS.test(text), 'is a header every request already has: choose another name'),
      'The header that carries the nonce, where the template uses one. Change it where the service has another name for it.',
      { default: USUAL.nonceHeader },
    ),
  })
  .refine(({ preset, template }) => preset === undefined || template === undefined, {
    path: ['template'],
    error: 'excludes preset: keep one of the two',
  })

type Signing = z.output<typeof signing>

/** The recipe of one organization: its own settings over the shared ones, key by key. */
export function recipe(own: Signing, shared: Signing): Recipe {
  // An organization's own preset overrides a shared template, and the other way round: they exclude each other.
  const form = own.preset === undefined && own.template === undefined ? shared : own
  const { preset: _preset, template: _template, ...settings } = { ...shared, ...own }
  return { ...USUAL, ...settings, template: form.template ?? PRESETS[form.preset ?? DEFAULT_PRESET] }
}

function writtenTemplateProblem(text: string): string | undefined {
  if (/\\[nt]/.test(text))
    return String.raw`holds a backslash, not a line break: write it in double quotes for "\n" to work`
  return templateProblem(text)
}

const OURS =
  /^(?:x-api-key|x-timestamp|x-signature|accept|accept-encoding|cache-control|connection|content-length|content-type|host|transfer-encoding|user-agent)$/i
