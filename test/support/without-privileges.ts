/** Root may read everything, so during `work` the process runs as another user. */
export async function withoutPrivileges<Result>(work: () => Promise<Result> | Result): Promise<Result> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
