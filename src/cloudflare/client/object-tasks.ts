import { checkArguments } from "../../core/arguments/argument.ts"
import { taskArguments } from "../../core/arguments/client-arguments.ts"
import { noTaskQueues, type TaskControl } from "../../client-api/task-control.ts"

/** Durable Objects have no task queues: their activities run where their workflows run. */
export class ObjectTasks implements TaskControl {
  static {
    checkArguments(this.prototype, taskArguments)
  }

  claim(): Promise<never> {
    return Promise.reject(noTaskQueues())
  }

  heartbeat(): Promise<never> {
    return Promise.reject(noTaskQueues())
  }

  complete(): Promise<never> {
    return Promise.reject(noTaskQueues())
  }

  fail(): Promise<never> {
    return Promise.reject(noTaskQueues())
  }
}
