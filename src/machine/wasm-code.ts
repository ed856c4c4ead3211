import { setFlagsFromString } from 'node:v8'

/** The number of a function that no WebAssembly module has: the only one that is still compiled twice. */
const NO_FUNCTION = 2 ** 31 - 1

/**
 * Keeps the code that V8 makes of a WebAssembly function at its first call. It would compile those that are called often once more, and
 * better: for the parser of HTTP answers that takes 60 ms of a processor in each process, and what it saves later is too little to measure.
 * To be called before the parser is loaded.
 */
export function keepFirstWasmCode(): void {
  setFlagsFromString(`--wasm-tier-up-filter=${NO_FUNCTION}`)
}
