/** Faults of the engine, planted on purpose, each against one law. They change the engine's own classes, and give the way back. */
import type { Engine } from "../../src/engine/engine.ts"
import { TurnWriter } from "../../src/engine/runner/turn-writer.ts"
import { RollbackStack } from "../../src/core/execution/rollback-stack.ts"
import type { Entry } from "../../src/core/journal/journal.ts"

export type PlantedBug = (engines: () => readonly Engine[]) => () => void

/** Puts another method in the place of one of a class. */
function replaced<T extends object, K extends keyof T>(prototype: T, name: K, make: (own: T[K]) => T[K]): () => void {
  const own = prototype[name]
  prototype[name] = make(own)
  return () => {
    prototype[name] = own
  }
}

/** Whoever waits for an update is answered as soon as the answer is known, durable or not. */
export const answeredFirst: PlantedBug = (engines) =>
  replaced(
    TurnWriter.prototype,
    "record",
    (own) =>
      function (this: TurnWriter, entry: Entry) {
        if (entry.type === "update.completed" || entry.type === "update.failed")
          for (const { components } of engines()) components.updateWaiters.onUpdateAnswered(entry)
        return own.call(this, entry)
      },
  )

/** What undoes a step is done twice. */
export const undoneTwice: PlantedBug = () =>
  replaced(
    RollbackStack.prototype,
    "unwind",
    (own) =>
      function (this: RollbackStack, submit, error) {
        return own.call(this, (request) => submit(request).then(() => submit(request)), error)
      },
  )
