import type { ObjectMessage, TaskOrder } from "../../../../ports/cloudflare/task-order.ts"

/** Whether the message is for the object of a task queue. All others are for the inbox of an instance. */
export function isTaskOrder(message: ObjectMessage): message is TaskOrder {
  return message.kind === "task" || message.kind === "task.over"
}
