/** Faults planted in the engine on purpose, each against one law. A fault replaces methods of the engine, and returns a function that restores them. */
import type { Engine } from "../../src/engine/engine.ts"
import { TurnWriter } from "../../src/engine/runner/turn-writer.ts"
import { RollbackStack } from "../../src/core/execution/rollback-stack.ts"
import type { OpenAsk } from "../../src/core/execution/open-asks.ts"
import type { Entry } from "../../src/core/journal/journal.ts"

export type PlantedBug = (engines: () => readonly Engine[]) => () => void

/** Replaces a method of a class. */
function replaced<T extends object, K extends keyof T>(prototype: T, name: K, make: (own: T[K]) => T[K]): () => void {
  const own = prototype[name]
  prototype[name] = make(own)
  return () => {
    prototype[name] = own
  }
}

/** A caller gets the answer of an update as soon as it is known, before it is durable. */
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

/** A rollback runs twice. */
export const undoneTwice: PlantedBug = () =>
  replaced(
    RollbackStack.prototype,
    "unwind",
    (own) =>
      function (this: RollbackStack, submit, error) {
        return own.call(this, (request) => submit(request).then(() => submit(request)), error)
      },
  )

/** Started steps are rolled back in the order in which they completed. Steps that did not complete are rolled back first. */
export const undoneByCompletion: PlantedBug = () => {
  const incomplete = new WeakMap<RollbackStack, Set<OpenAsk>>()
  const unwinding = new WeakSet<RollbackStack>()
  const restores = [
    replaced(
      RollbackStack.prototype,
      "started",
      (started) =>
        function (this: RollbackStack, ask) {
          if (unwinding.has(this)) started.call(this, ask)
          else incomplete.set(this, (incomplete.get(this) ?? new Set()).add(ask))
        },
    ),
    replaced(
      RollbackStack.prototype,
      "completed",
      (completed) =>
        function (this: RollbackStack, ask, result) {
          incomplete.get(this)?.delete(ask)
          completed.call(this, ask, result)
        },
    ),
    replaced(
      RollbackStack.prototype,
      "unwind",
      (unwind) =>
        function (this: RollbackStack, submit, error) {
          unwinding.add(this)
          for (const ask of incomplete.get(this) ?? []) this.started(ask)
          return unwind.call(this, submit, error)
        },
    ),
  ]
  return () => restores.forEach((restore) => restore())
}

/** Rollbacks go on after one has failed, whatever the policy says. */
export const undoneAfterFailure: PlantedBug = () =>
  replaced(
    RollbackStack.prototype,
    "unwind",
    (own) =>
      function (this: RollbackStack, submit, error) {
        return own.call(this, submit, error).then(() => own.call(this, submit, error))
      },
  )
