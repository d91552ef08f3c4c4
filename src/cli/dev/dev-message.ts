/** Settings of the executing process, which it gets as its argument. */
export interface DevSettings {
  readonly entry: string
  readonly db: string
  readonly cwd: string
  /** Of the HTTP API; undefined if there is none. */
  readonly port?: number
}

/** A message from the executing process to the watching process. */
export type DevReport =
  | { readonly type: "ready"; readonly offers: readonly string[]; readonly role: "worker" | "client"; readonly url?: string }
  /** The process could not load the workflows or open the database, and ends. */
  | { readonly type: "failed"; readonly message: string }
  /** The database is gone, and the process ends. A restart would begin with an empty database. */
  | { readonly type: "gone"; readonly message: string }
