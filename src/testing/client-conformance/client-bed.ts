import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { Client, Handle } from "../../client-api/client-api.ts"
import type { LimitControl } from "../../client-api/limit-control.ts"
import type { ScheduleClient, ScheduleHandle } from "../../client-api/schedule-client.ts"
import type { TaskControl } from "../../client-api/task-control.ts"

/** Gives a client of an engine on an empty store that executes these workflows. */
export type OpenClient = (workflows: readonly AnyWorkflow[]) => Promise<OpenedClient>

export interface OpenedClient {
  readonly client: Client
  close(): Promise<void>
}

/** Returns the client of the running test. */
export type CurrentClient = () => Client

const clientMethods: Readonly<Record<keyof Client, true>> = {
  limits: true,
  tasks: true,
  queues: true,
  start: true,
  startBatch: true,
  sendOrStart: true,
  workflows: true,
  get: true,
  list: true,
  count: true,
  describe: true,
  why: true,
  pause: true,
  resume: true,
  cancel: true,
  terminate: true,
  restart: true,
  fork: true,
  query: true,
  update: true,
  delete: true,
  changes: true,
  schedules: true,
}
const handleMethods: Readonly<Record<Exclude<keyof Handle, "id">, true>> = {
  result: true,
  status: true,
  describe: true,
  steps: true,
  history: true,
  why: true,
  sendEvent: true,
  signal: true,
  pause: true,
  resume: true,
  cancel: true,
  terminate: true,
  restart: true,
  fork: true,
  query: true,
  update: true,
  delete: true,
  changes: true,
}
const limitMethods: Readonly<Record<keyof LimitControl, true>> = { set: true, get: true, reset: true }
const taskMethods: Readonly<Record<keyof TaskControl, true>> = { claim: true, heartbeat: true, complete: true, fail: true }
const scheduleMethods: Readonly<Record<keyof ScheduleClient, true>> = { create: true, get: true, list: true }
const scheduleHandleMethods: Readonly<Record<Exclude<keyof ScheduleHandle, "id">, true>> = {
  describe: true,
  update: true,
  pause: true,
  resume: true,
  trigger: true,
  backfill: true,
  delete: true,
}

/** All methods of a client. A new method must be in these lists, or the lists do not compile. */
export const allMethods: readonly string[] = [
  ...Object.keys(clientMethods),
  ...Object.keys(handleMethods).map((name) => `handle.${name}`),
  ...Object.keys(limitMethods).map((name) => `limits.${name}`),
  ...Object.keys(taskMethods).map((name) => `tasks.${name}`),
  ...Object.keys(scheduleMethods).map((name) => `schedules.${name}`),
  ...Object.keys(scheduleHandleMethods).map((name) => `schedule.${name}`),
]

/** Records which methods of a client and of its handles are called. */
export class UseRecord {
  readonly used = new Set<string>()

  of(client: Client): Client {
    return this.#noted(client, "")
  }

  #noted<T extends object>(target: T, prefix: string): T {
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof name === "symbol") return value
        this.used.add(`${prefix}${name}`)
        if (name === "limits" || name === "tasks" || name === "schedules") return this.#noted(value as object, `${name}.`)
        if (typeof value !== "function") return value
        return (...args: unknown[]) => this.#answer(Reflect.apply(value, target, args), prefix)
      },
    })
  }

  #answer(answer: unknown, prefix: string): unknown {
    if (answer instanceof Promise) return answer.then((value: unknown) => this.#answer(value, prefix))
    const isHandle = typeof answer === "object" && answer !== null && "id" in answer && "describe" in answer && typeof answer.describe === "function"
    if (!isHandle) return answer
    return this.#noted(answer, "trigger" in answer ? "schedule." : "handle.")
  }
}
