import type { NewMessage } from "../journal-store.ts"

/**
 * What the object of an instance sends to the object of a task queue, in the order of its turns.
 *
 *   task       a task waits in the queue from now on. `payload`: the task as JSON
 *   task.over  the instance does not wait for the task any more, so it ends without a message
 */
export interface TaskOrder extends Pick<NewMessage, "at" | "payload"> {
  /** The name of the queue's object. */
  readonly instance: string
  readonly kind: "task" | "task.over"
  /** The incarnation of the instance. */
  readonly incarnation: string
  /** The id of the instance. */
  readonly topic: string
  /** The id of the task. */
  readonly eventId: string
}

/** A message of one object to another. */
export type ObjectMessage = NewMessage | TaskOrder
