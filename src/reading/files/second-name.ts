import { linkSync, renameSync } from 'node:fs'
import { codeOf } from '../../errors/faults.ts'
import { MirrorUnusable } from '../../errors/errors.ts'
import { LeftUndone } from './copy-error.ts'
import { removeIfPossible } from './remove-file.ts'
import { isSame } from './target-place.ts'

/** A file that is about to be replaced, and the name that it keeps. */
export type SecondName = {
  kept: string
  /** Makes it what and where it was before. Throws MirrorUnusable where the disk does not let it. */
  takeBack(): void
}

/** Gives the file at `place` the name `kept` too. Throws the error of the system, where it has no hard links or there is a file of that name. */
export function linkSecondName(place: string, kept: string): SecondName {
  linkSync(place, kept)
  return {
    kept,
    takeBack() {
      // A network may report a rename as failed that was done: then the second name is the only one.
      if (isSame(place, kept)) removeIfPossible([kept])
    },
  }
}

/**
 * Gives the file at `place` the name `kept` too, so that there is a file at its place at any time. It leaves its place already on a file
 * system without hard links, such as those of many network shares and memory sticks. Throws the error of the system, EEXIST where there is
 * a file of that name.
 */
export function giveSecondName(place: string, kept: string): SecondName {
  try {
    return linkSecondName(place, kept)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error
    return moveAside(place, kept)
  }
}

/** Gives the file at `place` the name `kept` in place of its own. Throws the error of the system. */
export function moveAside(place: string, kept: string): SecondName {
  renameSync(place, kept)
  return { kept, takeBack: () => putBack(kept, place) }
}

/**
 * Runs `replace`, which notes each second name that it gives, and returns those names. Where the new file did not get its place, all of
 * them are taken back.
 */
export function replacing(replace: (names: SecondName[]) => void): readonly SecondName[] {
  const names: SecondName[] = []
  try {
    replace(names)
    return names
  } catch (error) {
    if (!(error instanceof LeftUndone)) takeBack(names)
    throw error
  }
}

/** The file itself is the first, and is put back although one beside it could not be. */
function takeBack([first, ...others]: readonly SecondName[]): void {
  if (first === undefined) return
  try {
    takeBack(others)
  } finally {
    first.takeBack()
  }
}

function putBack(kept: string, place: string): void {
  try {
    renameSync(kept, place)
  } catch (error) {
    throw new MirrorUnusable(
      `${place}: could not be replaced, and is ${kept} now, because the disk failed before it had its name again. Check the disk, then ` +
        `rename it. (${codeOf(error)})`,
      { code: 'denied' },
      { cause: error },
    )
  }
}
