import { durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Debounce } from "../../core/workflow/flow-options.ts"
import type { EntryOf, Recorded } from "../../core/journal/journal.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { StartOptions } from "../../client-api/client-api.ts"
import { deadlineOf } from "./flow-traits.ts"
import { loadRun } from "../runner/run-loader.ts"
import type { WriteScope } from "../instances/write-scope.ts"
import type { StartRequest } from "../instances/instance-starter.ts"
import { TurnDraft } from "../runner/turn-draft.ts"
import type { Worker } from "../worker/worker.ts"

/**
 * Gives a debounced instance that has not begun a new input and a new start time. The turn writes a new `run.started`, and the run begins there. The
 * turn is lost if a worker has claimed the instance, or if another turn was written before.
 */
export class Debouncer {
  readonly #worker: Worker

  constructor(worker: Worker) {
    this.#worker = worker
  }

  /** Returns the id of the instance that has the new input. Returns undefined if no instance with this key waits to begin. */
  async replace({ store, write, announce }: WriteScope, { instance, start }: StartRequest, debounce: Debounce<unknown>): Promise<string | undefined> {
    const unique = instance.flow?.unique?.find(({ kind }) => kind === "debounce")
    const holder = unique && (await store.flow.holder(unique))
    const row = holder === undefined ? undefined : await store.directory.get(holder)
    if (row?.status !== "queued") return undefined
    const { recorded, lastTurn } = await loadRun(store.journal, row)
    const { host } = this.#worker
    const now = host.now()
    const startAt = Math.min(now + durationMs(debounce.quiet), row.createdAt + (debounce.max === undefined ? Infinity : durationMs(debounce.max)))
    const timeoutAt = start.timeoutAt === undefined ? undefined : startAt + (start.timeoutAt - (start.startAt ?? now))
    const draft = new TurnDraft(lastPosition(recorded) + 1, Math.max(now, recorded.at(-1)?.at ?? 0), this.#worker.settings.codecs)
    draft.ifQueued = true
    draft.add(restart(start, row, recorded, startAt, timeoutAt))
    const deadline = deadlineOf(row.flow, timeoutAt)
    const state = { status: "queued", run: row.run, runPosition: draft.position, dueAt: startAt, ...deadline } as const
    const turn = draft.seal(this.#worker.nextTurnId(), row, row.run, state, lastTurn)
    const result = await write(turn)
    if (typeof result === "object") throw result.error
    if (result === "lost") return undefined
    announce(row.id, startAt)
    return row.id
  }
}

/** The new `run.started`, which keeps the events that the instance has received. */
function restart(
  { value }: EntryOf<"run.started">,
  row: InstanceRow,
  recorded: readonly Recorded[],
  startAt: number,
  timeoutAt: number | undefined,
): EntryOf<"run.started"> {
  const { workflow, version, run, tags } = row
  const kept = recorded.filter(({ entry }) => entry.type === "event.received").map(({ position }) => ({ from: position, to: position }))
  return {
    type: "run.started",
    run,
    workflow,
    version,
    value,
    startAt,
    ...(timeoutAt === undefined ? undefined : { timeoutAt }),
    ...(kept.length === 0 ? undefined : { kept }),
    ...(tags.length === 0 ? undefined : { tags }),
  }
}

function lastPosition(recorded: readonly Recorded[]): number {
  return recorded.reduce((last, { position }) => Math.max(last, position), 0)
}

/** When a debounced start begins, if no further start comes. */
export function debouncedStart(name: string, { quiet }: Debounce<unknown>, { delay, startAt }: StartOptions<unknown>, now: number): number {
  if (delay !== undefined || startAt !== undefined)
    throw new PerdureError("BAD_OPTION", `workflow "${name}" is debounced, and debounce decides when it starts; omit delay and startAt`)
  return now + durationMs(quiet)
}

/** Refuses calls that need the id of the caller: a debounced start may return the id of another instance. */
export function refuseDebounce({ debounce, instance }: StartRequest, what: string): void {
  if (debounce) throw new PerdureError("BAD_OPTION", `workflow "${instance.workflow}" is debounced, so it cannot ${what}; use start`)
}
