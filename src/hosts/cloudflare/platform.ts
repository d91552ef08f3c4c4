/** What we use of Cloudflare's platform, by its shape: nobody has to install its types for ours, and theirs fit. */

export interface ObjectState {
  readonly id: { readonly name?: string | undefined }
  readonly storage: ObjectStorage
}

export interface ObjectStorage {
  setAlarm(at: number): Promise<void>
  deleteAlarm(): Promise<void>
  deleteAll(): Promise<void>
  /** Resolves when all that is written is durable. A macrotask passes, whatever there is to write. */
  sync(): Promise<void>
}

/** A binding to the class. */
export interface ObjectNamespace {
  idFromName(name: string): unknown
  get(id: never, options?: never): unknown
}
