import { PerdureError } from "../../core/errors.ts"
import type { Asks, Context, Rollback, RollbackContext, StepOptions } from "../../core/workflow/context.ts"
import { cloudflareDurationMs } from "./cloudflare-duration.ts"
import { callbackOf, runAsCallback } from "./running-code.ts"
import { resolveStepConfig, shownConfig, stepTimeoutMs, type ResolvedStepConfig, type WorkflowStepContext } from "./step-config.ts"
import { stepRetry } from "./step-retry.ts"
import { InvalidStreamError, isStream, revivedStream, storeStream } from "./stream-output.ts"
import { WorkflowFatalError, WorkflowTimeoutError } from "./workflow-errors.ts"
import type { WorkflowRollbackContext, WorkflowStep, WorkflowStepEvent, WorkflowStepRollbackOptions } from "./workflow-step.ts"

const stepNameLengthMax = 256
const sleepMsMax = 365 * 86_400_000
// oxlint-disable-next-line no-control-regex -- these are what a name may not have
const controlCharacter = /[\u0000-\u001f\u007f]/

export interface StepSettings {
  /** Of a step that names no delay. */
  readonly retryDelayMs: number
  /** How many times `do` may be called. */
  readonly stepsMax: number
}

type Callback = (ctx: WorkflowStepContext) => Promise<unknown>
type RollbackOptions = WorkflowStepRollbackOptions<unknown, never>

/** The `step` of Cloudflare Workflows over the native context: names, defaults and errors differ, the work is the native engine's. */
export class ContextStep implements WorkflowStep {
  readonly #ctx: Context
  readonly #settings: StepSettings
  /** Ends the instance; the code that asked goes no further. */
  readonly #end: (error: WorkflowFatalError) => void
  /** How often each name was used by `do`. */
  readonly #counts = new Map<string, number>()
  #stepsAsked = 0

  constructor(ctx: Context, settings: StepSettings, end: (error: WorkflowFatalError) => void) {
    this.#ctx = ctx
    this.#settings = settings
    this.#end = end
  }

  async do<T>(name: string, ...rest: readonly unknown[]): Promise<T> {
    const { config, callback, rollbackOptions } = this.#parse(name, rest)
    this.#refuseInRollback()
    const step = { name, count: this.#count(name) }
    const contextOf = (attempt: number) => ({ step: { ...step }, attempt, config: shownConfig(config) })
    const timeoutMs = stepTimeoutMs(config)
    const options: StepOptions = {
      retry: stepRetry(config, `${name}-${step.count}`, contextOf),
      timeout: timeoutMs,
      sensitive: config.sensitive === "output",
      ...(rollbackOptions && { rollback: this.#rollback(rollbackOptions, contextOf) }),
    }
    try {
      const result = await this.#asks.do(
        name,
        async ({ attempt, step: asks }) => {
          const value = await runAsCallback({ of: this, asks, isRollback: false }, () => callback(contextOf(attempt)))
          return isStream(value) ? storeStream(name, value) : value
        },
        options,
      )
      return revivedStream(result) as T
    } catch (error) {
      return this.#fail(name, error, timeoutMs)
    }
  }

  sleep = async (name: string, duration: unknown): Promise<void> => {
    checkName(name)
    const ms = cloudflareDurationMs(duration)
    if (Number.isNaN(ms) || ms > sleepMsMax)
      throw new WorkflowFatalError(`The duration of sleep "${name}" is not valid: give at most 365 days, such as "5 minutes"`)
    await this.#asks.sleep(name, Math.max(0, Math.round(ms)))
  }

  sleepUntil = async (name: string, timestamp: Date | number): Promise<void> => {
    checkName(name)
    const at = timestamp instanceof Date ? timestamp.getTime() : timestamp
    if (!Number.isFinite(at)) throw new WorkflowFatalError(`The time of sleepUntil "${name}" is not valid: give a Date or milliseconds since 1970`)
    if (at < this.#ctx.now()) throw new Error("You can't sleep until a time in the past, time-traveler")
    await this.#asks.sleepUntil(name, at)
  }

  async waitForEvent<T>(name: string, options: { type: string; timeout?: unknown }): Promise<WorkflowStepEvent<T>> {
    this.#refuseInRollback()
    checkName(name)
    const timeoutMs = cloudflareDurationMs(options.timeout ?? "24 hours")
    if (!(timeoutMs >= 0)) throw new WorkflowFatalError(`The timeout of waitForEvent "${name}" is not valid: give milliseconds or text such as "5 minutes"`)
    try {
      const { type, payload, receivedAt } = await this.#asks.receiveEvent(name, { type: options.type, timeout: Math.round(timeoutMs) })
      return { payload: payload as T, timestamp: new Date(receivedAt), type }
    } catch (error) {
      if (PerdureError.is(error, "EVENT_TIMEOUT")) throw new WorkflowTimeoutError(timeoutMs)
      throw error
    }
  }

  /** The callback of a step may ask, too: what it asks for is inside of the step. */
  get #asks(): Asks {
    return callbackOf(this)?.asks ?? this.#ctx
  }

  #refuseInRollback(): void {
    if (callbackOf(this)?.isRollback) throw new WorkflowFatalError("Cannot execute steps during rollback phase")
  }

  #parse(
    name: string,
    [first, second, third]: readonly unknown[],
  ): { config: ResolvedStepConfig; callback: Callback; rollbackOptions: RollbackOptions | undefined } {
    const [given, callback, rollbackOptions] = typeof first === "function" ? [{}, first, second] : [first ?? {}, second, third]
    if (typeof callback !== "function") throw new WorkflowFatalError(`Step "${name}" requires a callback function`)
    checkRollbackOptions(name, rollbackOptions, this.#settings.retryDelayMs)
    const { stepsMax } = this.#settings
    if (++this.#stepsAsked > stepsMax)
      throw new WorkflowFatalError(`The limit of ${stepsMax} steps has been reached. This limit can be changed in your worker configuration.`)
    checkName(name)
    const config = resolveStepConfig(name, given, this.#settings.retryDelayMs)
    return { config, callback: callback as Callback, rollbackOptions: rollbackOptions as RollbackOptions | undefined }
  }

  #count(name: string): number {
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    return count
  }

  #rollback({ rollback, rollbackConfig = {} }: RollbackOptions, contextOf: (attempt: number) => WorkflowStepContext): Rollback<unknown> {
    const { name, count } = contextOf(0).step
    const stepName = `${name}-${count}`
    const config = resolveStepConfig(name, rollbackConfig, this.#settings.retryDelayMs)
    return {
      retry: stepRetry(config, stepName, contextOf),
      timeout: stepTimeoutMs(config),
      run: async (output: unknown, { error, attempts, step: asks }: RollbackContext) => {
        const context: WorkflowRollbackContext = { ctx: contextOf(attempts), error: triggerOf(error), output: revivedStream(output), stepName }
        const undo = rollback as (context: WorkflowRollbackContext) => Promise<void>
        await runAsCallback({ of: this, asks, isRollback: true }, () => undo(context))
      },
    }
  }

  /** Throws the error of the last attempt, as the callback threw it; a text or a number becomes an error. What no workflow may catch ends the instance. */
  #fail(name: string, error: unknown, timeoutMs: number): Promise<never> {
    if (!PerdureError.is(error, "STEP_FAILED")) throw error
    const { cause } = error
    if (PerdureError.is(cause, "STEP_TIMEOUT")) throw new WorkflowTimeoutError(timeoutMs)
    if (PerdureError.is(cause, "UNSERIALIZABLE")) return this.#endWith(notSerialisable(name))
    if (cause instanceof Error && isInvalidStream(cause)) return this.#endWith(new WorkflowFatalError(cause.message))
    if (typeof cause === "object" && cause !== null) throw cause as Error
    throw new Error(String(cause))
  }

  #endWith(error: WorkflowFatalError): Promise<never> {
    this.#end(error)
    return new Promise(() => undefined)
  }
}

function notSerialisable(name: string): WorkflowFatalError {
  return new WorkflowFatalError(`The execution of the Workflow instance was terminated, as the step "${name}" returned a value which is not serialisable`)
}

/** By what is stored of it: after a crash the error has no class of ours. */
function isInvalidStream(error: Error): boolean {
  return error instanceof InvalidStreamError || (error.name === "WorkflowFatalError" && "why" in error)
}

/** What a rollback is told: for an instance that was terminated, the error that Cloudflare gives it. */
function triggerOf(error: unknown): Error {
  if (PerdureError.is(error, "TERMINATED") || PerdureError.is(error, "CANCELLED"))
    return Object.assign(new Error("Instance terminated during rollback"), { name: "Terminated" })
  return error instanceof Error ? error : new Error(String(error))
}

function checkName(name: string): void {
  if (typeof name === "string" && name.length <= stepNameLengthMax && !controlCharacter.test(name)) return
  throw new WorkflowFatalError(`Step name "${name}" exceeds max length (${stepNameLengthMax} chars) or invalid characters found`)
}

function checkRollbackOptions(name: string, options: unknown, retryDelayMs: number): void {
  if (options === undefined) return
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new WorkflowFatalError(`Rollback options for "${name}" must be an object`)
  const { rollback, rollbackConfig } = options as Partial<RollbackOptions>
  if (typeof rollback !== "function") throw new WorkflowFatalError(`Rollback for "${name}" must be a function`)
  if (rollbackConfig !== undefined) resolveStepConfig(name, rollbackConfig, retryDelayMs, "Rollback config")
}
