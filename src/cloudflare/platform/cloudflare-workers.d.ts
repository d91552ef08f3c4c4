/** The part that the package uses of a module of Cloudflare's Workers runtime. Users have the types of the module itself. */
declare module "cloudflare:workers" {
  export abstract class DurableObject<Env = unknown> {
    constructor(ctx: DurableObjectState, env: Env)
    protected readonly ctx: DurableObjectState
    protected readonly env: Env
  }

  export interface DurableObjectState {
    readonly id: DurableObjectId
    readonly storage: DurableObjectStorage
    waitUntil(promise: Promise<unknown>): void
    blockConcurrencyWhile<T>(fn: () => Promise<T>): Promise<T>
    /** Removes the object from memory at once. Writes that are not durable are lost. */
    abort(reason?: string): void
  }

  export interface DurableObjectStorage {
    readonly sql: {
      exec(query: string, ...bindings: (string | number | Uint8Array | null)[]): SqlCursor
      readonly databaseSize: number
    }
    transactionSync<T>(fn: () => T): T
    getAlarm(): Promise<number | null>
    setAlarm(at: number): Promise<void>
    deleteAlarm(): Promise<void>
    deleteAll(): Promise<void>
    sync(): Promise<void>
  }

  export interface SqlCursor {
    toArray(): Record<string, string | number | ArrayBuffer | null>[]
    raw(): { toArray(): (string | number | ArrayBuffer | null)[][] }
    readonly rowsWritten: number
    readonly rowsRead: number
  }

  export interface DurableObjectId {
    readonly name?: string
    toString(): string
  }

  export interface DurableObjectNamespace<Stub = DurableObjectStub> {
    idFromName(name: string): DurableObjectId
    idFromString(id: string): DurableObjectId
    get(id: DurableObjectId, options?: { readonly locationHint?: string }): Stub
  }

  export interface DurableObjectStub {
    readonly id: DurableObjectId
    fetch(input: string | Request, init?: RequestInit): Promise<Response>
  }

  export const env: unknown
}
