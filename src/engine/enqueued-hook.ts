import { isTerminal } from "../core/journal/status.ts"
import type { Delivery } from "../ports/directory.ts"
import type { Logger } from "../ports/host.ts"
import type { MessageKind, NewMessage, Turn, TurnOutcome } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import { overriding } from "./method-overrides.ts"

/** An instance that has work for a worker, as `onEnqueued` is told. */
export interface EnqueuedInstance {
  /** The name of the workflow. */
  readonly workflow: string
  /** The id of the instance. */
  readonly id: string
  /** What made the instance runnable: its start (or a restart), an event, a control such as a resume, an update, or the end of a child. */
  readonly reason: "start" | "event" | "control" | "update" | "child"
}

/** Called after a commit that made an instance runnable. What it throws is logged. */
export type EnqueuedHook = (instance: EnqueuedInstance) => unknown

/**
 * The store with a hook behind its commits. The hook is a hint: it is called once the commit is durable, in the process that committed, and a crash in
 * between loses the call. A start within a transaction of the caller's own calls no hook, as only the caller knows when that commits.
 */
export function withEnqueuedHook(store: Store, hook: EnqueuedHook, now: () => number, log: Logger): Store {
  const call = (instance: EnqueuedInstance) =>
    void Promise.resolve()
      .then(() => hook(instance))
      .catch((error: unknown) => log.error(`onEnqueued failed for instance "${instance.id}"`, { instance: instance.id, error }))
  const started = (turns: readonly Turn[], outcomes: readonly TurnOutcome[]) => {
    turns.forEach((turn, at) => {
      if (outcomes[at] !== "committed") return
      if (turn.create) call({ workflow: turn.create.workflow, id: turn.instance, reason: "start" })
      else if (isByCaller(turn, now())) void lookUp(turn.instance, beginsRun(turn) ? "start" : "control")
      sent(turn.sends ?? [])
    })
  }
  const lookUp = async (id: string, reason: EnqueuedInstance["reason"], incarnation?: string) => {
    const row = await store.directory.get(id).catch(() => undefined)
    if (!row || isTerminal(row.status) || row.incarnation !== (incarnation ?? row.incarnation)) return
    call({ workflow: row.workflow, id, reason })
  }
  /** Messages that a turn or a change of a schedule delivers with its own commit. The store drops those to ended instances. */
  const sent = (messages: readonly NewMessage[]) => {
    for (const { instance, kind, incarnation } of messages) void lookUp(instance, reasonOf(kind), incarnation)
  }
  const delivered = (messages: readonly NewMessage[], deliveries: readonly (Delivery | "created")[]) => {
    messages.forEach(({ instance, kind }, at) => {
      if (deliveries[at] === "delivered" || deliveries[at] === "created") void lookUp(instance, reasonOf(kind))
    })
  }
  const journal = overriding(store.journal, {
    commit: async (turns) => {
      const outcomes = await store.journal.commit(turns)
      started(turns, outcomes)
      return outcomes
    },
  })
  const directory = overriding(store.directory, {
    deliver: async (messages) => {
      const deliveries = await store.directory.deliver(messages)
      delivered(messages, deliveries)
      return deliveries
    },
    deliverOrCreate: async (message, create) => {
      const delivery = await store.directory.deliverOrCreate(message, create)
      delivered([message], [delivery])
      return delivery
    },
  })
  const schedules = overriding(store.schedules, {
    write: async (change) => {
      const outcome = await store.schedules.write(change)
      if (outcome === "written") {
        started(change.creates ?? [], change.creates?.map(() => "committed") ?? [])
        sent(change.messages ?? [])
      }
      return outcome
    },
  })
  return overriding(store, { journal, directory, schedules })
}

/**
 * A turn after which no worker has the instance, and it is due at once: a restart, or a control of an instance without an owner. An owner's last turn may
 * look the same; then the hook is called once more than needed, which is harmless for a hint.
 */
function isByCaller({ state }: Turn, now: number): boolean {
  return state !== undefined && state.owner === undefined && !isTerminal(state.status) && (state.dueAt ?? Infinity) <= now
}

function beginsRun({ entries }: Turn): boolean {
  return entries.includes('{"type":"run.started"')
}

function reasonOf(kind: MessageKind): EnqueuedInstance["reason"] {
  return kind === "event" || kind === "update" || kind === "child" ? kind : "control"
}
