import { CheckedClient } from "../../client-api/checked-client.ts"
import type { Client, HandleOf, StartArgumentsOf, StartOptions } from "../../client-api/client-api.ts"
import { CheckedSchedules } from "../../client-api/checked-schedules.ts"
import type { LimitControl } from "../../client-api/limit-control.ts"
import type { ScheduleCalls } from "../../client-api/schedule-calls.ts"
import type { ScheduleClient } from "../../client-api/schedule-client.ts"
import type { TaskControl } from "../../client-api/task-control.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { ObjectCalls } from "./object-calls.ts"

interface Location {
  /** The region where the instance is to live, such as `"weur"`. The platform may choose another one. */
  readonly locationHint?: string
}

/** Options of `start` on Durable Objects. A `transaction` is refused there: `NO_TRANSACTIONS`. */
export interface EdgeStartOptions<In> extends StartOptions<In>, Location {}

/** A client whose `start` also takes the region where the instance is to live. */
export interface EdgeClient extends Client {
  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W, Location>): Promise<HandleOf<W>>
}

/** A client of the objects behind a binding. A Worker may make one for each request. */
export class ObjectClient extends CheckedClient {
  readonly schedules: ScheduleClient
  readonly limits: LimitControl
  readonly tasks: TaskControl

  constructor(calls: ObjectCalls, schedules: ScheduleCalls, limits: LimitControl, tasks: TaskControl) {
    super(calls)
    this.schedules = new CheckedSchedules(
      () => schedules,
      (id) => this.get(id),
    )
    this.limits = limits
    this.tasks = tasks
  }
}
