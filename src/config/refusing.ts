import { z } from 'zod'

/** A check of a text: its mistake as a sentence, or undefined. */
export function refusing(mistakeIn: (text: string) => string | undefined) {
  return z.superRefine<string>((text, context) => {
    const mistake = mistakeIn(text)
    if (mistake !== undefined) context.addIssue(mistake)
  })
}
