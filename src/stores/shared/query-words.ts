import { oneOf } from "../../core/arguments/closed-list.ts"
import { statuses, type Status } from "../../core/journal/status.ts"
import type { Filter, PageRequest } from "../../ports/directory.ts"

/**
 * Looks up words from callers that become part of a statement, or choose one. Each word must be in a closed list; any other word throws `BAD_OPTION`
 * before a statement is built. Clients check these words, too, but a store does not rely on that.
 */

/** The column to count by. */
export function columnOf(by: "status" | "workflow"): "status" | "workflow" {
  return oneOf("by", by, ["status", "workflow"])
}

export function isOldestFirst(order: PageRequest["order"]): boolean {
  return oneOf("order", order, ["newest", "oldest"]) === "oldest"
}

export function directionOf(order: PageRequest["order"]): "ASC" | "DESC" {
  return isOldestFirst(order) ? "ASC" : "DESC"
}

/** The SQL comparison that selects the rows after a place, in this order. */
export function comparisonOf(order: PageRequest["order"]): ">" | "<" {
  return isOldestFirst(order) ? ">" : "<"
}

/** The wanted statuses, each once. Undefined: the filter names none. */
export function wantedStatuses({ status }: Filter): readonly Status[] | undefined {
  return status === undefined ? undefined : [...new Set(status.map((one) => oneOf("status", one, statuses)))]
}
