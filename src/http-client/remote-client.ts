// Of what users compile with it: their target may not have AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import { CheckedClient } from "../client-api/checked-client.ts"
import { CheckedSchedules } from "../client-api/checked-schedules.ts"
import type { LimitControl } from "../client-api/limit-control.ts"
import type { ScheduleClient } from "../client-api/schedule-client.ts"
import type { TaskControl } from "../client-api/task-control.ts"
import { RemoteCalls } from "./remote-calls.ts"
import { RemoteLimits } from "./remote-limits.ts"
import { RemoteScheduleCalls } from "./remote-schedule-calls.ts"
import { RemoteTasks } from "./remote-tasks.ts"
import type { RetryPacing } from "./retry-pacing.ts"
import { type ConnectOptions, Transport } from "./transport.ts"

/** A client of an engine in another process, over HTTP. */
export class RemoteClient extends CheckedClient implements AsyncDisposable {
  readonly schedules: ScheduleClient
  readonly limits: LimitControl
  readonly tasks: TaskControl
  readonly #transport: Transport

  constructor(url: string, options: ConnectOptions, pace: RetryPacing) {
    const transport = new Transport(url, options, pace)
    super(new RemoteCalls(transport))
    this.#transport = transport
    const schedules = new RemoteScheduleCalls(transport)
    this.schedules = new CheckedSchedules(
      () => schedules,
      (id) => this.get(id),
    )
    this.limits = new RemoteLimits(transport)
    this.tasks = new RemoteTasks(transport)
  }

  /** Rejects the calls under way with `ENGINE_CLOSED`, and ends the streams. */
  close(): Promise<void> {
    this.#transport.close()
    return Promise.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
