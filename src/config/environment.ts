/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The environment of this process. Only this function reads it; all other code receives it as an argument. */
export function processEnvironment(): Environment {
  return process.env
}
