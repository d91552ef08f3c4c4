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

/** A binding to the class of the workflow runner, as the environment of a Worker has it. `DurableObjectNamespace` of Cloudflare fits. */
export interface ObjectNamespace {
  /** The id of the object with this name. */
  idFromName(name: string): unknown
  /** A stub of the object with this id. */
  get(id: never, options?: never): unknown
}
