import { PerdureError } from "../../core/errors.ts"
import { instant } from "../../core/time/instant.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import { statuses } from "../../core/journal/status.ts"
import type { Directory, Filter } from "../../ports/directory.ts"
import type { ListFilter, ListPage, WorkflowInfo } from "../../client-api/client-api.ts"
import { pageLimit, summary } from "./instance-summary.ts"

/** A page of instances for a client. */
export async function listInstances(directory: Pick<Directory, "list">, filter: ListFilter, codecs?: PayloadCodecs): Promise<ListPage> {
  const { cursor, order = "newest" } = filter
  const page = await directory.list(storeFilter(filter), {
    limit: pageLimit(filter.limit),
    order,
    ...(cursor === undefined ? undefined : { cursor }),
  })
  return { instances: page.items.map((row) => summary(row, codecs)), ...(page.cursor === undefined ? undefined : { cursor: page.cursor }) }
}

export async function countInstances(directory: Pick<Directory, "count">, filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
  return directory.count(storeFilter(filter), by)
}

/** The workflows that the store has instances of, for a client without code. */
export async function listWorkflows(directory: Pick<Directory, "list" | "count">, codecs?: PayloadCodecs): Promise<readonly WorkflowInfo[]> {
  const names = Object.keys(await directory.count({}, "workflow"))
  return Promise.all(
    names.sort().map(async (name) => {
      const { instances } = await listInstances(directory, { workflow: name, limit: 1 }, codecs)
      const version = instances[0]?.version ?? "1"
      return { name, version, versions: [version] }
    }),
  )
}

function storeFilter(filter: ListFilter): Filter {
  const status = filter.status === undefined ? undefined : typeof filter.status === "string" ? [filter.status] : filter.status
  for (const one of status ?? []) {
    if (!statuses.includes(one)) throw new PerdureError("BAD_OPTION", `"${String(one)}" is not a status; use one of ${statuses.join(", ")}`)
  }
  return {
    ...(filter.workflow === undefined ? undefined : { workflow: filter.workflow }),
    ...(filter.version === undefined ? undefined : { version: filter.version }),
    ...(status === undefined ? undefined : { status }),
    ...(filter.tag === undefined ? undefined : { tag: filter.tag }),
    ...(filter.queue === undefined ? undefined : { queue: filter.queue }),
    ...(filter.since === undefined ? undefined : { since: instant(filter.since, "since") }),
    ...(filter.until === undefined ? undefined : { until: instant(filter.until, "until") }),
    ...(filter.idPrefix === undefined ? undefined : { idPrefix: filter.idPrefix }),
  }
}
