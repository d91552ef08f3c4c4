import { oneOf } from "../../core/arguments/closed-list.ts"
import { statuses, type Status } from "../../core/journal/status.ts"
import type { Filter, PageRequest } from "../../ports/directory.ts"

/**
 * Words of a caller that become part of a statement, or decide about one. Each is looked up in a closed list, and anything else throws `BAD_OPTION`
 * before a statement is built. Clients check the same words; a store does not rely on that.
 */

/** The column to count by. */
export function columnOf(by: "status" | "workflow"): "status" | "workflow" {
  return oneOf("by", by, ["status", "workflow"])
}

/** True: the oldest first. */
export function isOldestFirst(order: PageRequest["order"]): boolean {
  return oneOf("order", order, ["newest", "oldest"]) === "oldest"
}

export function directionOf(order: PageRequest["order"]): "ASC" | "DESC" {
  return isOldestFirst(order) ? "ASC" : "DESC"
}

/** How a row compares to those that come after it in this order. */
export function comparisonOf(order: PageRequest["order"]): ">" | "<" {
  return isOldestFirst(order) ? ">" : "<"
}

/** The wanted statuses, each once. Undefined: the filter names none. */
export function wantedStatuses({ status }: Filter): readonly Status[] | undefined {
  return status === undefined ? undefined : [...new Set(status.map((one) => oneOf("status", one, statuses)))]
}
