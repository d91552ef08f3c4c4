/** What gives time, randomness and life to an engine. */
export interface Host {
  /** The time that an engine works by, in whole milliseconds since 1970. It never goes back while the process runs. */
  now(): number
  /** How far that is ahead of the wall clock. More than 0 only after the wall clock was set back. */
  aheadMs(): number
  /** Milliseconds since some moment of the past, whatever anybody does to the wall clock. */
  monotonicMs(): number
  randomBytes(length: number): Uint8Array
  /** Of a text's UTF-8 bytes, in hex. */
  sha256(text: string): string
  /**
   * Calls back when one macrotask has passed: every promise that could settle has settled. `inARow`: many follow each other, and
   * it is enough if others get a turn of the event loop now and then.
   */
  quiesce(then: () => void, inARow?: boolean): void
  /** Volatile. Returns the way to clear it. */
  setTimer(at: number, fire: () => void): () => void
  /**
   * Runs user code in a scope that follows the code through its awaits. `run` receives the scope, so that one function serves all scopes.
   */
  runIn<S extends Scope, T>(scope: S, run: (scope: S) => T): T
  currentScope(): Scope | undefined
  /** Told of rejections that nobody handles in user code of a scope. Returns the way to stop. */
  onUnhandledRejection(listener: (scope: Scope, reason: unknown) => void): () => void
  readonly log: Logger
}

/** Which instance, and which of its steps, the code that is running now belongs to. */
export interface Scope {
  readonly engine: object
  readonly instance: string
  /** Absent in workflow code outside steps. */
  readonly step?: string
  /** What the code says, by whatever way, is not to be shown. */
  readonly isSensitive?: boolean
}

/** Where an engine writes to. `console` fits, and so do most logging libraries. What a logger throws is ignored. */
export interface Logger {
  /** Details, for whoever looks for a fault. */
  debug(message: string, data?: Record<string, unknown>): void
  /** What happens in good order, and attempts that will be made again. */
  info(message: string, data?: Record<string, unknown>): void
  /** What failed for good in user code, and what may become a problem. */
  warn(message: string, data?: Record<string, unknown>): void
  /** What went wrong in the engine or its store. */
  error(message: string, data?: Record<string, unknown>): void
}
