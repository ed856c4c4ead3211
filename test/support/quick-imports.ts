// oxlint-disable-next-line import/no-unassigned-import -- Vitest reads this file for each test file, and what it imports once in each process.
import './resolve-quickly.mjs'
