import type { Turn } from "../../../ports/journal-store.ts"
import type { NewTask } from "../../../ports/task-store.ts"

/** The turn with which tasks begin or end. */
export type TaskTurn = Pick<Turn, "instance" | "incarnation" | "at">

/** Writes the tasks of turns, within their transactions. A file has the tasks itself; an object sends them to the objects of their queues. */
export interface TurnTasks {
  /** `key`: the key of the instance's row. */
  add(key: number, task: NewTask, turn: TaskTurn): void
  /** Ends tasks of the instance. */
  end(key: number, ids: readonly string[] | "all", turn: TaskTurn): void
}
