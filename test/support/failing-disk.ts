import { execFileSync } from 'node:child_process'
import fs, { closeSync, openSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { onTestFinished, vi } from 'vitest'

type Call = 'fsyncSync' | 'linkSync' | 'renameSync' | 'unlinkSync'

/** Until the test ends, or what is returned is called, this call fails with a code of the system where `fails` returns true for it. */
export function failOnDisk(call: Call, fails: (...args: unknown[]) => boolean, code = 'EIO'): () => void {
  const usual = fs[call]
  const failing = vi.spyOn(fs, call).mockImplementation((...args: unknown[]): never => {
    if (fails(...args))
      throw Object.assign(new Error(`${code}: made up, ${call}`), { code, syscall: call.slice(0, -4) })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what it returns is handed on as it is
    return Reflect.apply(usual, fs, args) as never
  })
  syncBuiltinESMExports()
  const repair = () => {
    failing.mockRestore()
    syncBuiltinESMExports()
  }
  onTestFinished(repair)
  return repair
}

/** Makes a named pipe whose writer stays silent until the test ends. Returns its path. */
export function heldPipe(path: string): string {
  execFileSync('mkfifo', [path])
  const descriptor = openSync(path, 'r+')
  onTestFinished(() => closeSync(descriptor))
  return path
}
