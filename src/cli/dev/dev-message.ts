/** What the process that executes is told at its start, in its argument. */
export interface DevSettings {
  readonly entry: string
  readonly db: string
  readonly cwd: string
  /** Undefined: no HTTP API. */
  readonly port?: number
}

/** What it tells the one that watches. */
export type DevReport =
  | { readonly type: "ready"; readonly offers: readonly string[]; readonly role: "worker" | "client"; readonly url?: string }
  /** It could not begin, and ends. */
  | { readonly type: "failed"; readonly message: string }
  /** Its database is gone, and it ends. To start it again would begin with an empty database. */
  | { readonly type: "gone"; readonly message: string }
