import { z } from 'zod'
import { configFile } from './schema.ts'

/** The JSON Schema of the configuration file, for editors. */
export function configJsonSchema(): Record<string, unknown> {
  return {
    ...z.toJSONSchema(configFile, {
      io: 'input',
      override: ({ zodSchema, jsonSchema }) => {
        // zod leaves out defaults of converted values (durations); ours are written as in the file.
        const written = z.globalRegistry.get(zodSchema)?.['default']
        if (typeof written === 'string') jsonSchema.default ??= written
      },
    }),
  }
}
