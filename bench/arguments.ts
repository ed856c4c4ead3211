import { parseArgs, type ParseArgsConfig } from 'node:util'
import type * as z from 'zod'
import { UsageError } from '../src/errors/errors.ts'

/** The options of a command line. Throws a UsageError for those that make no sense, with what is wrong of the first of them and the usage. */
export function readArguments<Shape extends z.ZodType>(
  args: readonly string[],
  { options, shape, usage }: { options: NonNullable<ParseArgsConfig['options']>; shape: Shape; usage: string },
): z.output<Shape> {
  const read = shape.safeParse(parsed(args, options, usage))
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new UsageError(`--${issue?.path.join('.')}: ${issue?.message}.\n\n${usage}`)
}

function parsed(args: readonly string[], options: NonNullable<ParseArgsConfig['options']>, usage: string) {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`, { cause: error })
  }
}
