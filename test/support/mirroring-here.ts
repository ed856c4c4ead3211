import { beforeEach, expect } from 'vitest'
import { list, type FaultServer } from './fault-server.ts'
import { runCli, type Ended } from './run-cli.ts'
import { aFaultServer, aWorkplace, organizationAt, type Workplace } from './workplace.ts'

/** A service of 300 customers and a workplace that mirrors it, anew for each test of the file. */
export function mirroringHere() {
  const here: { server: FaultServer; workplace: Workplace } = Object.create(null)
  beforeEach(async () => {
    here.server = await aFaultServer(list(300))
    here.workplace = aWorkplace([organizationAt(here.server)])
  })
  const expectEnd = (expected: number, { code, stdout, stderr }: Ended, said: (string | RegExp)[]): void => {
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
    for (const part of said) expect(stderr).toMatch(part)
    expect(stderr).not.toMatch(/^\s+at |Unexpected|node_modules/m)
    expect(here.server.requests).toEqual([])
  }
  return Object.assign(here, {
    sync: (...args: string[]): Promise<Ended> => runCli(['sync', ...args], { cwd: here.workplace.folder }),
    /** A user's mistake: code 2, nothing on standard output, no request, and no stack trace. */
    expectRefusal: (ended: Ended, ...said: (string | RegExp)[]): void => expectEnd(2, ended, said),
    /** A mirror that cannot be used as it is: code 7, and the rest as for a mistake. */
    expectMirrorRefused: (ended: Ended, ...said: (string | RegExp)[]): void => expectEnd(7, ended, said),
  })
}
