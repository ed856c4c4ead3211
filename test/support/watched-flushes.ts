import type { Mirror } from '../../src/store.ts'
import { open } from 'node:fs/promises'
import { onTestFinished, vi } from 'vitest'
import { anEnding, aPage, customers, START_MS } from './builders.ts'

/** Saves so many pages of 100 customers, ten at a time. */
export async function save(mirror: Mirror, pages: number, name?: string): Promise<void> {
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  for (let page = 1; page <= pages; page += 10) {
    const some = Array.from({ length: Math.min(10, pages) }, (_, place) => pageOf(page + place, name))
    await mirror.savePages(run, some, START_MS)
  }
  await mirror.finishRun(run, anEnding(), START_MS)
}

function pageOf(page: number, name?: string) {
  const some = customers(100 * (page - 1) + 1, 100 * page)
  return aPage(page, name === undefined ? some : some.map((customer) => ({ ...customer, name })))
}

/** A spy on the flushes of files to the disk. */
export async function watchFlushes() {
  const some = await open(import.meta.filename)
  const spy = vi.spyOn(Object.getPrototypeOf(some), 'datasync')
  onTestFinished(() => spy.mockRestore())
  await some.close()
  return spy
}
