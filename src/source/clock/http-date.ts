/** An HTTP date in any of its three forms, as Unix milliseconds; undefined for anything else. */
export function httpDateMs(text: string): number | undefined {
  const form = FORMS.find(({ pattern }) => pattern.test(text))
  if (form === undefined) return undefined
  const ms = Date.parse(text + form.suffix)
  return Number.isNaN(ms) ? undefined : ms
}

// Date.parse alone finds a date in almost anything ("soon 1" is in 2001), so the shape is checked first.
const FORMS = [
  { pattern: /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/, suffix: '' },
  { pattern: /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/, suffix: '' },
  // The oldest form names no zone and means GMT; left as it is, it would be read as local time.
  { pattern: /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/, suffix: ' GMT' },
]
