import type { Group } from './members.ts'
import type { Measurement } from './messages.ts'
import type { GroupResult } from './results.ts'
import type { Stage } from './stage.ts'

/** Called before each run, with which one of how many is next. */
export type OnRun = (next: { group: string; member: string; round: number; runs: number }) => void

/** Runs the members of a group in turns, each once a round, so that whatever disturbs the machine disturbs them all. */
export async function runRounds(group: Group, stage: Stage, runs: number, onRun: OnRun): Promise<GroupResult> {
  const rows = group.members.map((member) => ({ member, measurements: new Array<Measurement>() }))
  const warming = group.members.filter(({ warmUp }) => warmUp === true)
  for (const member of warming) await stage.run(member)
  for (let round = 1; round <= runs; round += 1) {
    for (const { member, measurements } of rows) {
      onRun({ group: group.name, member: member.name, round, runs })
      measurements.push(await stage.run(member))
    }
  }
  const measured = rows.map(({ member: { name, floors }, measurements }) => ({ name, floors, measurements }))
  const { name, about, notes } = group
  return { name, about, rows: measured, ...(notes !== undefined && { notes }) }
}
