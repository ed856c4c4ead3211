import { z } from 'zod'
import { refusing } from './refusing.ts'

/** The path of a file, as written in a configuration. */
export const path = z
  .string()
  .regex(/\S/, 'must be a path')
  .refine((text) => !text.includes('\0'), 'must be a path without NUL characters')
  .refine((text) => !text.startsWith('~'), 'must be a full path: ~ is not expanded here')
  .refine(
    (text) => !/\$\{\w+\}|\$[A-Z_][A-Z0-9_]*(?:\/|$)/.test(text),
    'must be a full path: variables such as $HOME are not expanded here',
  )

/** A check that the path is not written as that of a folder. */
export function namingFile(example: string) {
  return refusing((text) =>
    /[/\\]$/.test(text) ? `must name a file, such as ${example}, and not a folder` : undefined,
  )
}
