import { registerHooks } from 'node:module'

const WITHIN = ['src/', 'jobs/', 'test/'].map((folder) => new URL(`../../${folder}`, import.meta.url).href)

/*
 * Files of the program and of its tests name each other by their whole paths. To look for each of them on the disk, and to report each import to
 * Vitest, which needs that only to watch files, took a tenth of the time.
 */
registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL
    const isPlain = specifier.startsWith('.') && specifier.endsWith('.ts')
    if (!isPlain || !WITHIN.some((folder) => parent?.startsWith(folder))) return next(specifier, context)
    return { url: new URL(specifier, parent).href, format: 'module-typescript', shortCircuit: true }
  },
})
