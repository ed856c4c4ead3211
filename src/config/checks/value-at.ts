/** What stands at a path in data of any shape; undefined where there is nothing. */
export function valueAt(data: unknown, ...path: readonly PropertyKey[]): unknown {
  let inner = data
  for (const step of path) {
    if (Array.isArray(inner)) inner = inner[Number(step)]
    else if (isMapping(inner) && Object.hasOwn(inner, step)) inner = inner[String(step)]
    else return undefined
  }
  return inner
}

/** Whether it has keys and values. */
export function isMapping(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}
