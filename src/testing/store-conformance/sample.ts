import type { FlowTraits, LimitUse } from "../../ports/flow-control.ts"
import type { ClaimRequest, RowState, NewInstance, NewMessage, Turn } from "../../ports/journal-store.ts"

/** Turns and messages as an engine would write them: a case spells out only the fields that it is about. */

let turns = 0
/** The newest turn of each instance, by the position of its last entry. The next turn follows it by default. */
const madeLast = new Map<string, string>()

export const idle: RowState = { status: "waiting", run: 1, runPosition: 1 }
export const completed: RowState = { status: "completed", run: 1, runPosition: 1, endPosition: 2 }

export interface CreationOptions {
  readonly incarnation?: string
  readonly workflow?: string
  readonly version?: string
  readonly createdAt?: number
  readonly tags?: readonly string[]
  readonly state?: Partial<RowState>
  readonly flow?: FlowTraits
  readonly queue?: string
  readonly events?: readonly string[]
}

/** The turn that creates an instance. It takes up positions 1 and 2, so the next turn begins at 3. */
export function creation(id: string, options: CreationOptions = {}): Turn & { readonly create: NewInstance; readonly state: RowState } {
  const { incarnation = `${id}~1`, workflow = "order", version = "1", createdAt = 1_000_000, tags = [], state = {}, flow, queue, events } = options
  return remembered({
    instance: id,
    incarnation,
    follows: undefined,
    turn: `turn-${++turns}`,
    position: 1,
    count: 2,
    run: 1,
    at: createdAt,
    entries: `[{"type":"run.started"}]`,
    create: {
      id,
      incarnation,
      workflow,
      version,
      createdAt,
      tags,
      ...(flow ? { flow } : undefined),
      ...(queue === undefined ? undefined : { queue }),
      ...(events ? { events } : undefined),
    },
    state: { ...idle, ...state },
  })
}

function remembered<T extends Turn>(made: T): T {
  const { instance, incarnation, position, count, turn: name } = made
  madeLast.set(`${instance} ${incarnation} ${position + count - 1}`, name)
  return made
}

/** A concurrency limit, of one key or of the whole workflow. */
export function slots(max: number, key?: string, more: Partial<LimitUse> = {}): LimitUse {
  const name = more.name ?? (key === undefined ? "concurrency.1" : "concurrency")
  const limitKey = key === undefined ? `order/${name}` : `order/${name}/${key}`
  return { kind: "concurrency", workflow: "order", name, key: limitKey, isKeyed: key !== undefined, hold: false, max, ...more }
}

/** A rate limit: this many starts in a period. */
export function rate(max: number, perMs: number, key?: string): LimitUse {
  return { ...slots(max, key, { name: "rate" }), kind: "rate", perMs }
}

/** The turn that creates an instance with limits, which is due. */
export function limited(id: string, limits: readonly LimitUse[], options: CreationOptions & { readonly priority?: number } = {}) {
  const { priority, ...more } = options
  const flow = { limits, ...(priority === undefined ? undefined : { priority }), ...more.flow }
  return creation(id, { ...more, flow, state: { status: "queued", dueAt: 1_000_000, ...more.state } })
}

/** A later turn of an instance. By default the turn follows the newest sample turn that ends before it. */
export function turn(id: string, position: number, more: Partial<Turn> = {}): Turn {
  const { incarnation = `${id}~1` } = more
  return remembered({
    instance: id,
    incarnation,
    turn: `turn-${++turns}`,
    follows: madeLast.get(`${id} ${incarnation} ${position - 1}`),
    position,
    count: 1,
    run: 1,
    at: 1_000_500,
    entries: `[{"position":${position}}]`,
    ...more,
  })
}

export function event(id: string, more: Partial<NewMessage> = {}): NewMessage {
  return { instance: id, kind: "event", at: 1_000_000, topic: "paid", payload: `{"amount":1}`, ...more }
}

/** A claim by a worker called "a", of workflow "order" version "1", for as long as a lease lasts by default. */
export function claimBy(more: Partial<ClaimRequest> = {}): ClaimRequest {
  return { worker: "a", offers: [{ workflow: "order", version: "1" }], limit: 100, leaseMs: 30_000, ...more }
}

/** Returns the value, and fails the case if it is undefined. */
export function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("expected a value here, found none")
  return value
}
