import { z } from 'zod'

/** The path of a file, as written in a configuration. */
export const path = z
  .string()
  .regex(/\S/, 'must be a path')
  .refine((text) => !text.includes('\0'), 'must be a path without NUL characters')
  .refine((text) => !text.startsWith('~'), 'must be a full path: ~ is not expanded here')
