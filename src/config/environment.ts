/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The environment of this process. The only place that reads it; everything else is handed one. */
export function processEnvironment(): Environment {
  return process.env
}
