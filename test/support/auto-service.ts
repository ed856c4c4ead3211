import type { Source } from '../../src/source/customers.ts'
import { type FaultServer, type Reply } from './fault-server.ts'
import { PATIENT } from '../source/a-source.ts'

export const soon = (reply: Reply): Reply => {
  return (response, request) => void setTimeout(() => void reply(response, request), 1)
}

/** Reads a hundred pages, all asked for together. */
export async function readHundred(source: Source): Promise<void> {
  const windows = Array.from({ length: 100 }, (_, index) => ({ page: 1 + (index % 9), size: 100 }))
  await Promise.all(windows.map((window) => source.readPage(window, PATIENT)))
}

/** Reads on until so many requests were under way together, which takes longer on a busy machine. */
export async function readUntil(source: Source, server: FaultServer, inFlight: number): Promise<void> {
  for (let time = 0; time < 50 && server.mostInFlight < inFlight; time += 1) await readHundred(source)
}
