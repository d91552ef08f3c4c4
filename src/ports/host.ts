/** Gives an engine its time, randomness, timers and async scopes. */
export interface Host {
  /** The time of the engine, in whole milliseconds since 1970. It never goes back while the process runs. */
  now(): number
  /** How far `now` is ahead of the wall clock. It is more than 0 only after the wall clock was set back. */
  aheadMs(): number
  /** Milliseconds since some moment of the past, unaffected by changes of the wall clock. */
  monotonicMs(): number
  randomBytes(length: number): Uint8Array
  /** The SHA-256 of a text's UTF-8 bytes, in hex. */
  sha256(text: string): string
  /**
   * Calls back after one macrotask, when every promise that could settle has settled. `inARow`: many such calls follow each other, so it is enough to let
   * other work onto the event loop now and then.
   */
  quiesce(then: () => void, inARow?: boolean): void
  /** Sets a timer that lives in memory only. Returns the function that clears it. */
  setTimer(at: number, fire: () => void): () => void
  /**
   * Runs user code in a scope, which `currentScope` returns during the call and after each of its awaits. `run` receives the scope, so that one function
   * can serve all scopes.
   */
  runIn<S extends Scope, T>(scope: S, run: (scope: S) => T): T
  currentScope(): Scope | undefined
  /** Calls back with each unhandled rejection of user code in a scope. Returns the function that stops this. */
  onUnhandledRejection(listener: (scope: Scope, reason: unknown) => void): () => void
  readonly log: Logger
}

/** The instance, and the step, that the running code belongs to. */
export interface Scope {
  readonly engine: object
  readonly instance: string
  /** Absent in workflow code outside steps. */
  readonly step?: string
  /** Errors and log lines of the code are sensitive and must not be shown. */
  readonly isSensitive?: boolean
}

/** The logger of an engine. `console` fits, and so do most logging libraries. Errors that a logger throws are ignored. */
export interface Logger {
  /** Writes details that help to find a fault. */
  debug(message: string, data?: Record<string, unknown>): void
  /** Writes that something normal has happened, or that an attempt has failed and will be retried. */
  info(message: string, data?: Record<string, unknown>): void
  /** Writes that user code has failed for good, or that something may become a problem. */
  warn(message: string, data?: Record<string, unknown>): void
  /** Writes that something has gone wrong in the engine or its store. */
  error(message: string, data?: Record<string, unknown>): void
}
