import { Client, type ClientConfig } from 'pg'
import { usePasswordFile } from '../../../password-file.ts'

/** A connection to the server of a mirror. */
export class MirrorClient extends Client {
  constructor(config?: ClientConfig) {
    super(config)
    usePasswordFile(this)
  }
}
