/** The members of Cloudflare's platform that the package uses, as structural types. Users need not install its types, and those fit. */

export interface ObjectState {
  readonly id: { readonly name?: string | undefined }
  readonly storage: ObjectStorage
}

export interface ObjectStorage {
  setAlarm(at: number): Promise<void>
  deleteAlarm(): Promise<void>
  deleteAll(): Promise<void>
  /** Resolves when everything written is durable. At least one macrotask passes, even if nothing was written. */
  sync(): Promise<void>
}

/** A binding to the class of the workflow runner, as the environment of a Worker has it. `DurableObjectNamespace` of Cloudflare fits. */
export interface ObjectNamespace {
  /** The id of the object with this name. */
  idFromName(name: string): unknown
  /** A stub of the object with this id. */
  get(id: never, options?: never): unknown
}
