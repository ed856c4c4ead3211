import { createHmac, hash } from 'node:crypto'
import { UsageError } from '../errors/errors.ts'

/** Request signing as data: the specification does not show the string that is signed, so it is a template of tokens, and the rest are settings. */
export type Recipe = {
  /** The string to sign, with `{tokens}` from {@link VALUES}. Must contain `{ts}`. */
  template: string
  encoding: (typeof FORMS.encoding)[number]
  /** Put before the encoded signature, e.g. `sha256=`. */
  prefix: string
  secretEncoding: SecretEncoding
  timestamp: (typeof FORMS.timestamp)[number]
  /** Carries `{nonce}`, and is sent only when the template uses it. */
  nonceHeader: string
}

export type SecretEncoding = (typeof FORMS.secretEncoding)[number]

/** What some settings of a recipe may be, by their names. */
export const FORMS = {
  encoding: ['hex', 'base64', 'base64url'],
  secretEncoding: ['utf8', 'hex', 'base64', 'base64url'],
  timestamp: ['s', 'ms', 'iso'],
} as const

export const PRESETS = {
  'method-target-ts-body-lf': '{METHOD}\n{target}\n{ts}\n{body}',
  'method-path-ts-body-lf': '{METHOD}\n{path}\n{ts}\n{body}',
  'ts-method-path-body-lf': '{ts}\n{METHOD}\n{path}\n{body}',
  'ts-method-target-body-lf': '{ts}\n{METHOD}\n{target}\n{body}',
  'method-path-ts-hash-lf': '{METHOD}\n{path}\n{ts}\n{body_sha256}',
  'ts-method-path-hash-lf': '{ts}\n{METHOD}\n{path}\n{body_sha256}',
  'ts-method-target-body': '{ts}{METHOD}{target}{body}',
  'ts-method-path-body': '{ts}{METHOD}{path}{body}',
  'method-target-ts-body': '{METHOD}{target}{ts}{body}',
  'method-path-ts-body': '{METHOD}{path}{ts}{body}',
  'laravel-path': '{METHOD}{path_noslash}{ts}{body}',
  'method-path-ts-colon': '{METHOD}:{path}:{ts}',
  'ts-method-path-dot': '{ts}.{METHOD}.{path}',
  'ts-body': '{ts}{body}',
  'key-ts': '{api_key}{ts}',
} as const satisfies Record<string, string>
export type PresetName = keyof typeof PRESETS
export const PRESET_NAMES = Object.keys(PRESETS).filter((name): name is PresetName => name in PRESETS)

export const DEFAULT_PRESET: PresetName = 'method-target-ts-body-lf'

export const HEADERS = { key: 'X-API-Key', timestamp: 'X-Timestamp', signature: 'X-Signature' }

/** What a recipe has beside its template where nothing else is said. */
export const USUAL = {
  encoding: 'hex',
  prefix: '',
  secretEncoding: 'utf8',
  timestamp: 's',
  nonceHeader: 'X-Nonce',
} as const

export function recipeOf(preset: PresetName): Recipe {
  return { ...USUAL, template: PRESETS[preset] }
}

/** The settings of a recipe that no preset has, by their names. */
export function unlikePresets({ template: _template, ...settings }: Recipe): object {
  const usual = new Map<string, string>(Object.entries(USUAL))
  return Object.fromEntries(Object.entries(settings).filter(([name, value]) => usual.get(name) !== value))
}

/** A request as its signature sees it. `url` is exactly what is sent. */
export type SignableRequest = {
  method: string
  url: Readonly<Pick<URL, 'origin' | 'host' | 'pathname' | 'search'>>
  body?: string
}

export type Credentials = { apiKey: string; secret: string }

/** When a request is signed, and the number used once where the recipe wants one. */
export type Moment = { unixMs: number; nonce?: string }

/** The headers that sign a request at a moment, by name. Pure: the same arguments give the same headers. */
export function signedHeaders(request: SignableRequest, credentials: Credentials, moment: Moment, recipe: Recipe) {
  const { apiKey, secret } = credentials
  return {
    [HEADERS.key]: apiKey,
    [HEADERS.timestamp]: timestampText(moment.unixMs, recipe.timestamp),
    [HEADERS.signature]: signature(stringToSign(request, apiKey, moment, recipe), secret, recipe),
    ...(moment.nonce !== undefined && usesNonce(recipe) && { [recipe.nonceHeader]: moment.nonce }),
  }
}

/** The exact string that is signed. It never contains the secret. */
export function stringToSign(request: SignableRequest, apiKey: string, moment: Moment, recipe: Recipe): string {
  const facts = { request, apiKey, timestamp: timestampText(moment.unixMs, recipe.timestamp), nonce: moment.nonce }
  return recipe.template.replaceAll(TOKEN, (text, name: string) => VALUES.get(name)?.(facts) ?? text)
}

/** HMAC-SHA256 of `text` in the recipe's encoding, prefix included. */
export function signature(text: string, secret: string, recipe: Recipe): string {
  // A text as it is: Node takes several times as long to make a key of bytes.
  const key = recipe.secretEncoding === 'utf8' ? secret : Buffer.from(secret, recipe.secretEncoding)
  return recipe.prefix + createHmac('sha256', key).update(text).digest(recipe.encoding)
}

/** Whether a secret can be in an encoding. Buffer.from drops what it cannot decode, and would make an empty or shorter key of it. */
export function isEncoded(secret: string, encoding: SecretEncoding): boolean {
  return ENCODED[encoding].test(secret)
}

const ENCODED: Readonly<Record<SecretEncoding, RegExp>> = {
  utf8: /^/,
  hex: /^(?:[0-9a-f]{2})+$/i,
  base64: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3}={0,2})?$/,
  base64url: /^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3}={0,2})?$/,
}

/** Whether the recipe signs a nonce, which must then be fresh for every request. */
export function usesNonce(recipe: Recipe): boolean {
  return recipe.template.includes('{nonce}')
}

/** The mistake in a template, as a sentence; undefined if there is none. */
export function templateProblem(template: string): string | undefined {
  for (const [, name = ''] of template.matchAll(TOKEN)) {
    if (!VALUES.has(name)) return `unknown token {${name}}; known are {${[...VALUES.keys()].join('} {')}}`
  }
  return template.includes('{ts}') ? undefined : 'must contain {ts}, or a captured request could be replayed for ever'
}

type Facts = { request: SignableRequest; apiKey: string; timestamp: string; nonce: string | undefined }

/** The tokens that a template may hold. `{target}` is the path with its query exactly as sent. */
const VALUES: ReadonlyMap<string, (facts: Facts) => string> = new Map([
  ['METHOD', ({ request }: Facts) => request.method.toUpperCase()],
  ['path', ({ request }) => request.url.pathname],
  ['path_noslash', ({ request }) => request.url.pathname.replace(/^\/+/, '')],
  ['target', ({ request }) => request.url.pathname + request.url.search],
  ['query', ({ request }) => request.url.search.replace(/^\?/, '')],
  ['url', ({ request }) => request.url.origin + request.url.pathname + request.url.search],
  ['host', ({ request }) => request.url.host],
  ['ts', ({ timestamp }) => timestamp],
  ['body', ({ request }) => request.body ?? ''],
  ['body_sha256', ({ request }) => hash('sha256', request.body ?? '')],
  ['api_key', ({ apiKey }) => apiKey],
  ['nonce', ({ nonce }) => nonce ?? ''],
])

function timestampText(unixMs: number, form: Recipe['timestamp']): string {
  if (form === 'ms') return String(Math.floor(unixMs))
  if (form === 'iso') return new Date(unixMs).toISOString()
  return String(Math.floor(unixMs / 1000))
}

/** How the text of a timestamp is written, and the moment it means; undefined for any other notation, over which no signature is made. */
export function readTimestamp(text: string): { form: Recipe['timestamp']; unixMs: number } | undefined {
  if (/^(?:0|[1-9]\d{0,10})$/.test(text)) return { form: 's', unixMs: Number(text) * 1000 }
  if (/^[1-9]\d{11,14}$/.test(text)) return { form: 'ms', unixMs: Number(text) }
  const unixMs = Date.parse(text)
  return Number.isNaN(unixMs) || new Date(unixMs).toISOString() !== text ? undefined : { form: 'iso', unixMs }
}

const TOKEN = /\{([^{}]*)\}/g

/** Every recipe that makes a signature known to be good, as it was sent, with its preset; maybe none. Throws UsageError for an odd timestamp. */
export function solveRecipe(known: Credentials & { request: SignableRequest; timestamp: string; signature: string }) {
  const time = readTimestamp(known.timestamp)
  if (time === undefined)
    throw new UsageError(
      'The timestamp must be as it was sent, in a form that can be signed: Unix seconds, Unix milliseconds, or a time such as ' +
        '2026-01-05T02:00:00.000Z. A service that sends another form is not supported.',
    )
  const prefix = /^[a-z][\w.-]*[=: ]\s*(?=\S)/i.exec(known.signature)?.[0]
  const prefixes = prefix === undefined ? [''] : ['', prefix]
  const forms = PRESET_NAMES.flatMap((preset) =>
    FORMS.encoding.flatMap((encoding) =>
      prefixes.map((each) => ({ preset, form: { ...recipeOf(preset), encoding, prefix: each, timestamp: time.form } })),
    ),
  )
  return forms.flatMap(({ preset, form }) => {
    const text = stringToSign(known.request, known.apiKey, { unixMs: time.unixMs }, form)
    // Two ways to decode a secret can give the same key; the first one named is enough.
    const recipes = FORMS.secretEncoding.map((secretEncoding) => ({ ...form, secretEncoding }))
    const recipe = recipes.find(
      (each) => isEncoded(known.secret, each.secretEncoding) && signature(text, known.secret, each) === known.signature,
    )
    return recipe === undefined ? [] : [{ preset, recipe }]
  })
}
