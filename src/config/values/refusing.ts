import { z } from 'zod'

/** A check of a text: its mistake as a sentence, or undefined. */
export function refusing(mistakeIn: (text: string) => string | undefined) {
  return z.superRefine<string>((text, context) => {
    const mistake = mistakeIn(text)
    if (mistake !== undefined) context.addIssue(mistake)
  })
}

/** A text, converted to a value by `parse`, which returns the value or its mistake as a sentence. */
export function converted<Value extends object>(parse: (text: string) => Value | { problem: string }) {
  return z.string().transform((text, context) => {
    const parsed = parse(text)
    if (!('problem' in parsed)) return parsed
    context.addIssue({ code: 'custom', message: parsed.problem })
    return z.NEVER
  })
}
