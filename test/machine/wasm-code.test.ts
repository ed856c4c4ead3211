import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const MODULE = fileURLToPath(new URL('../../src/machine/wasm-code.ts', import.meta.url))

const SET_FIRST = `
  import { keepFirstWasmCode } from ${JSON.stringify(MODULE)}
  keepFirstWasmCode()
`

/** A module with one function, which counts its argument down. */
const COUNTING_DOWN = [
  [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  // The type of a function from i32 to nothing, a function of this type, and its name, f.
  [1, 5, 1, 0x60, 1, 0x7f, 0],
  [3, 2, 1, 0],
  [7, 5, 1, 1, 0x66, 0, 0],
  // loop: argument = argument - 1; again unless that is 0
  [10, 16, 1, 14, 0, 3, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x0b],
].flat()

/** Calls it until V8 has compiled it anew, or so many times; prints whether its code is still the first. */
const callUpTo = (most: number) => `
  const { setTimeout: sleep } = await import('node:timers/promises')
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(${JSON.stringify(COUNTING_DOWN)})))
  for (let call = 0; call < ${most} && (call < 1 || %IsLiftoffFunction(exports.f)); call += 1) {
    exports.f(1_000_000)
    await sleep(1)
  }
  console.log(%IsLiftoffFunction(exports.f))
`

test('a WebAssembly function that is called often keeps its first code, which by itself it does not', async () => {
  expect(await printed(callUpTo(10_000))).toBe('false')
  expect(await printed(SET_FIRST + callUpTo(200))).toBe('true')
})

async function printed(program: string): Promise<string> {
  const flags = ['--allow-natives-syntax', '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, flags)
  return stdout.trim()
}
