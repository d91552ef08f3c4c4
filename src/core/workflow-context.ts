import { Asker, type AskSink } from "./ask.ts"
import type { InstanceInfo, WaitOptions, WorkflowLog } from "./context.ts"
import type { Limits } from "./limits.ts"
import { SeededRandom } from "./seeded-random.ts"

/** What the context of workflow code needs of its execution. */
export interface ContextSource {
  readonly instance: InstanceInfo
  readonly ask: AskSink
  readonly signal: AbortSignal
  readonly lastAsked: string | undefined
  readonly now: number
  /** Writes a line of the workflow's log, unless it was written before. */
  say(level: keyof WorkflowLog, message: string, data?: Record<string, unknown>): void
}

/** The `ctx` of workflow code. A class, and all that few workflows use made on demand: there is one for every instance in memory. */
export class WorkflowContext extends Asker {
  readonly #source: ContextSource
  #random: SeededRandom | undefined

  constructor(source: ContextSource, duplicateSteps: "number" | "error", limits: Limits) {
    super(source.ask, undefined, duplicateSteps, limits)
    this.#source = source
  }

  get instance(): InstanceInfo {
    return this.#source.instance
  }

  get signal(): AbortSignal {
    return this.#source.signal
  }

  get startTime(): Date {
    return new Date(this.#source.instance.startedAt)
  }

  get currentStep(): string | undefined {
    return this.#source.lastAsked
  }

  waitForSignal(name: string, options?: WaitOptions): Promise<never> {
    return this.waitForEvent(name, options)
  }

  get log(): WorkflowLog {
    const speak = (level: keyof WorkflowLog) => (message: string, data?: Record<string, unknown>) => this.#source.say(level, message, data)
    return { debug: speak("debug"), info: speak("info"), warn: speak("warn"), error: speak("error") }
  }

  now(): number {
    return this.#source.now
  }

  random(): number {
    return this.#seeded.next()
  }

  uuid(): string {
    return this.#seeded.uuid()
  }

  get #seeded(): SeededRandom {
    const { incarnation, run } = this.#source.instance
    this.#random ??= new SeededRandom(`${incarnation}:${run}`)
    return this.#random
  }
}
