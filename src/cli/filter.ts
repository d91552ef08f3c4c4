import { type Command, Option } from "commander"
import { statuses, type Status } from "../core/journal/status.ts"
import type { ListFilter } from "../client-api/client-api.ts"
import { pastInstant } from "./option-parsers.ts"
import { usageError } from "./exit-code.ts"

export interface FilterOptions {
  readonly workflow?: string
  readonly version?: string
  readonly status?: readonly Status[]
  readonly tag?: string
  readonly queue?: string
  readonly since?: number
  readonly until?: number
  readonly idPrefix?: string
}

/** Adds the options that select instances. */
export function addFilter(command: Command, now: () => number): Command {
  return command
    .option("-w, --workflow <name>", "of this workflow")
    .option("--version <version>", "of this version")
    .addOption(new Option("-s, --status <status>", "of this status; several: repeat it, or with commas").choices(statuses).argParser(statusList))
    .option("-t, --tag <tag>", "with this tag")
    .option("-q, --queue <name>", "of this task queue")
    .option("--since <time>", "created since: 2026-01-31T12:00:00Z, or how long ago, such as 2h", pastInstant("--since", now))
    .option("--until <time>", "created before", pastInstant("--until", now))
    .option("--id-prefix <prefix>", "whose ids begin so")
}

function statusList(value: string, before: readonly Status[] = []): readonly Status[] {
  const wanted = value.split(",").map((status) => status.trim())
  for (const status of wanted)
    if (!statuses.some((known) => known === status)) throw usageError(`"${status}" is not a status; use one of ${statuses.join(", ")}`)
  return [...before, ...(wanted as Status[])]
}

export function filterOf(options: FilterOptions): Omit<ListFilter, "limit" | "cursor" | "order"> {
  const { workflow, version, status, tag, queue, since, until, idPrefix } = options
  return Object.fromEntries(Object.entries({ workflow, version, status, tag, queue, since, until, idPrefix }).filter(([, value]) => value !== undefined))
}
