/** The objects below a prefix of a bucket, by their keys there. Whatever the service refuses or cannot do is thrown as CopyFailed. */
export type ObjectStore = {
  /** The prefix with its bucket, as a person writes it. */
  readonly shown: string
  /** The text of an object, with a mark of its version; undefined where there is none. */
  readText(key: string): Promise<StoredText | undefined>
  /**
   * Writes an object whose version is still this one, or that is not there yet where it is undefined. Returns false, and writes
   * nothing, where another process wrote it meanwhile.
   */
  replaceText(key: string, text: string, version: string | undefined): Promise<boolean>
  /**
   * Writes an object from an open file: no reader sees it before all of it is there. Returns false where another process, which
   * published meanwhile, removed what was there of it.
   */
  upload(key: string, file: { descriptor: number; bytes: number }): Promise<boolean>
  /** Whether there is an object of that many bytes; of any size where it is undefined. */
  has(key: string, bytes: number | undefined): Promise<boolean>
  /** The keys that begin so. */
  list(start: string): Promise<string[]>
  remove(key: string): Promise<void>
  /** Uploads that were begun and not ended, of keys that begin so. */
  listUnfinished(start: string): Promise<UnfinishedUpload[]>
  abandon(upload: UnfinishedUpload): Promise<void>
  close(): void
}

/** `text` is undefined where it is longer than any that this program writes. */
export type StoredText = { text: string | undefined; version: string | undefined }
export type UnfinishedUpload = { key: string; id: string }
