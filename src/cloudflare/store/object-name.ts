import { PerdureError } from "../../core/errors.ts"
import { shown } from "../../core/workflow/input-limits.ts"

/**
 * The names of objects. There is one class for all of them, and what an object is for is told by its name alone:
 *
 *   order-17                  an instance, by its id
 *   @index:8:3                the fourth of eight index shards
 *   @schedule:nightly         a schedule, by its id
 *   @limit:order/concurrency  what counts by one key of a limit, or has a key to itself
 *   @limit-settings:order     what was set for the limits of a workflow
 *
 * No id begins with the mark. An object is never made for a name that is none of these: what is asked of it is refused.
 */
export type ObjectRole =
  | { readonly kind: "instance"; readonly id: string }
  | { readonly kind: "shard"; readonly layout: number; readonly index: number }
  | { readonly kind: "schedule"; readonly id: string }
  | { readonly kind: "limit"; readonly key: string }
  | { readonly kind: "limit-settings"; readonly workflow: string }

/** What names begin with that are not an instance's. Ids begin with a letter, a digit or `_`. */
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

/** What others are called by, for whoever has to reach them. */
export const objectNames = { limit: limitName, limitSettings: limitSettingsName }

/** The key of the object that has this name. */
export function limitKeyOf(name: string | undefined): string {
  const role = name === undefined ? undefined : roleOf(name)
  return role?.kind === "limit" ? role.key : ""
}

export function roleOf(name: string): ObjectRole {
  if (!name.startsWith(reservedMark)) return { kind: "instance", id: name }
  const [, kind, rest = ""] = /^@([a-z-]+):([^]+)$/.exec(name) ?? []
  if (kind === "schedule") return { kind, id: rest }
  if (kind === "limit") return { kind, key: rest }
  if (kind === "limit-settings") return { kind, workflow: rest }
  const [, layout, index] = /^([1-9]\d{0,3}):(0|[1-9]\d{0,3})$/.exec(kind === "index" ? rest : "") ?? []
  if (layout !== undefined && Number(index) < Number(layout)) return { kind: "shard", layout: Number(layout), index: Number(index) }
  throw reservedName(name)
}

/** What an object is made of for one kind, once it is asked for; an object that by its name is of another kind has no such part. */
export function partOf<T>(name: string | undefined, kind: ObjectRole["kind"], make: () => T): () => T {
  let made: { readonly part: T } | undefined
  return () => {
    // Where the platform does not tell the name, whoever calls has to know it.
    if (name !== undefined && roleOf(name).kind !== kind) throw name.startsWith(reservedMark) ? reservedName(name) : notOfKind(name, kind)
    made ??= { part: make() }
    return made.part
  }
}

function notOfKind(name: string, kind: string): PerdureError {
  return new PerdureError("BAD_ID", `the object ${shown(name)} is an instance's, and no ${kind}`, { details: { id: name } })
}

function reservedName(name: string): PerdureError {
  return new PerdureError(
    "BAD_ID",
    `${shown(name)} begins with "${reservedMark}", which is kept for index shards, schedules and limits; begin with a letter, a digit or _`,
    { details: { id: name, reserved: reservedMark } },
  )
}
