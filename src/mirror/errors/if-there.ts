import { MirrorUnusable } from '../../errors/errors.ts'

/** What comes of opening a mirror; undefined where there is none. */
export async function ifThere<Opened>(opening: Promise<Opened>): Promise<Opened | undefined> {
  try {
    return await opening
  } catch (error) {
    if (error instanceof MirrorUnusable && error.code === 'missing') return undefined
    throw error
  }
}
