import { PerdureError } from "../../core/errors.ts"
import { shown } from "../../core/workflow/input-limits.ts"

/**
 * The names of objects. All objects have one class, and the name of an object decides its role:
 *
 *   order-17                  an instance, by its id
 *   @index:8:3                the fourth of eight index shards
 *   @schedule:nightly         a schedule, by its id
 *   @limit:order/concurrency  one key of a limit, or a unique key
 *   @limit-settings:order     the numbers that were set for the limits of a workflow
 *   @task-queue:reports       the tasks of a task queue
 *
 * No id begins with `@`. An object with any other name refuses every call.
 */
export type ObjectRole =
  | { readonly kind: "instance"; readonly id: string }
  | { readonly kind: "shard"; readonly layout: number; readonly index: number }
  | { readonly kind: "schedule"; readonly id: string }
  | { readonly kind: "limit"; readonly key: string }
  | { readonly kind: "limit-settings"; readonly workflow: string }
  | { readonly kind: "task-queue"; readonly queue: string }

/** Every name that is not an instance's begins with this character. Ids begin with a letter, a digit or `_`. */
const reservedMark = "@"

export function shardName(layout: number, index: number): string {
  return `${reservedMark}index:${layout}:${index}`
}

export function scheduleName(id: string): string {
  return `${reservedMark}schedule:${id}`
}

export function limitName(key: string): string {
  return `${reservedMark}limit:${key}`
}

export function limitSettingsName(workflow: string): string {
  return `${reservedMark}limit-settings:${workflow}`
}

export function taskQueueName(queue: string): string {
  return `${reservedMark}task-queue:${queue}`
}

/** The queue of the object that has this name. Undefined: the platform does not tell the name. */
export function taskQueueFromName(name: string | undefined): string | undefined {
  const role = name === undefined ? undefined : roleOf(name)
  return role?.kind === "task-queue" ? role.queue : undefined
}

/** The limit key of the object that has this name; empty if the platform does not tell the name. */
export function limitKeyFromName(name: string | undefined): string {
  const role = name === undefined ? undefined : roleOf(name)
  return role?.kind === "limit" ? role.key : ""
}

export function roleOf(name: string): ObjectRole {
  if (!name.startsWith(reservedMark)) return { kind: "instance", id: name }
  const [, kind, rest = ""] = /^@([a-z-]+):([^]+)$/.exec(name) ?? []
  if (kind === "schedule") return { kind, id: rest }
  if (kind === "limit") return { kind, key: rest }
  if (kind === "limit-settings") return { kind, workflow: rest }
  if (kind === "task-queue") return { kind, queue: rest }
  const [, layout, index] = /^([1-9]\d{0,3}):(0|[1-9]\d{0,3})$/.exec(kind === "index" ? rest : "") ?? []
  if (layout !== undefined && Number(index) < Number(layout)) return { kind: "shard", layout: Number(layout), index: Number(index) }
  throw reservedName(name)
}

/** Returns a function that opens a role once, at its first call. The function throws if the object's name is that of another role. */
export function roleOpener<T>(name: string | undefined, kind: ObjectRole["kind"], open: () => T): () => T {
  let opened: { readonly role: T } | undefined
  return () => {
    // If the platform does not tell the name, the caller is trusted to call the right object.
    if (name !== undefined && roleOf(name).kind !== kind) throw name.startsWith(reservedMark) ? reservedName(name) : notOfKind(name, kind)
    opened ??= { role: open() }
    return opened.role
  }
}

function notOfKind(name: string, kind: string): PerdureError {
  return new PerdureError("BAD_ID", `the object ${shown(name)} is the object of an instance, and not a ${kind}`, { details: { id: name } })
}

function reservedName(name: string): PerdureError {
  return new PerdureError(
    "BAD_ID",
    `${shown(name)} begins with "${reservedMark}", which is reserved for index shards, schedules, limits and task queues; begin with a letter, a digit or _`,
    { details: { id: name, reserved: reservedMark } },
  )
}
