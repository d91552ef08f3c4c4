import { Payload } from "../core/codec.ts"
import { shownEnding } from "../core/ending.ts"
import { PerdureError } from "../core/errors.ts"
import { InstanceState } from "../core/instance-state.ts"
import type { Recorded } from "../core/journal.ts"
import { storedPayload, type PayloadCodecs } from "../core/payload-codecs.ts"
import { runOf } from "../core/run-history.ts"
import { isTerminal, statuses, type Status } from "../core/status.ts"
import { defaultQueue } from "../core/task-queue.ts"
import { stepsOf, type StepInfo } from "../core/step-view.ts"
import { decodeRow } from "../core/turn-codec.ts"
import type { Directory, Filter } from "../ports/directory.ts"
import type { InstanceRow } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import type { HistoryEntry, HistoryOptions, HistoryPage, InstanceDescription, InstanceSummary, ListFilter, ListPage, Why, WorkflowInfo } from "./client.ts"
import { notFound } from "./endings.ts"
import { instant } from "../core/instant.ts"
import { loadRun } from "./loader.ts"
import { explain, type WhyContext } from "./why.ts"

const limitDefault = 50
const limitMax = 1_000
const childrenMax = 10

/** Answers questions about instances from what is committed. */
export class Reader {
  readonly #store: Store
  readonly #codecs: PayloadCodecs | undefined

  constructor(store: Store, codecs?: PayloadCodecs) {
    this.#store = store
    this.#codecs = codecs
  }

  async row(id: string): Promise<InstanceRow> {
    const row = await this.#store.directory.get(id)
    if (!row) throw notFound(id)
    return row
  }

  list(filter: ListFilter): Promise<ListPage> {
    return listInstances(this.#store.directory, filter, this.#codecs)
  }

  /** Those that there are instances of, for whoever has the code of none. */
  async workflows(): Promise<readonly WorkflowInfo[]> {
    const names = Object.keys(await this.#store.directory.count({}, "workflow"))
    return Promise.all(
      names.sort().map(async (name) => {
        const { instances } = await this.list({ workflow: name, limit: 1 })
        const version = instances[0]?.version ?? "1"
        return { name, version, versions: [version] }
      }),
    )
  }

  count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    return countInstances(this.#store.directory, filter, by)
  }

  async describe(id: string): Promise<InstanceDescription> {
    const row = await this.row(id)
    const { recorded } = await loadRun(this.#store.journal, row)
    const start = recorded[0]?.entry
    const ending = isTerminal(row.status) ? recorded.find(({ position }) => position === row.endPosition)?.entry : undefined
    const stall = row.status === "stalled" ? recorded.findLast(({ entry }) => entry.type === "stalled")?.entry : undefined
    const failure = stall ?? (ending?.type === "run.completed" ? undefined : ending)
    return {
      ...summary(row, this.#codecs),
      incarnation: row.incarnation,
      attempt: 1 + recorded.filter(({ entry }) => entry.type === "recovered").length,
      updatedAt: Math.max(row.updatedAt, recorded.at(-1)?.at ?? 0),
      input: start?.type === "run.started" ? start.value.shown() : undefined,
      ...(ending?.type === "run.completed" ? { result: ending.value.shown() } : undefined),
      ...(failure ? { error: shownEnding(id, failure) } : undefined),
      ...(start?.type === "run.started" && start.parent ? { parentId: start.parent.instance } : undefined),
      ...(start?.type === "run.started" && start.schedule ? { schedule: start.schedule } : undefined),
      ...(ending && "notRolledBack" in ending && ending.notRolledBack ? { notRolledBack: ending.notRolledBack } : undefined),
      steps: stepsOf(recorded),
    }
  }

  async steps(id: string): Promise<readonly StepInfo[]> {
    return stepsOf((await loadRun(this.#store.journal, await this.row(id))).recorded)
  }

  async history(id: string, options: HistoryOptions): Promise<HistoryPage> {
    await this.row(id)
    const after = options.cursor === undefined ? 0 : Number(options.cursor)
    if (!Number.isSafeInteger(after) || after < 0) throw new PerdureError("BAD_OPTION", `cursor "${options.cursor}" is not one that history gave`)
    const limit = pageLimit(options.limit)
    const isForward = options.order !== "newest"
    const rows = await this.#store.journal.readJournal(id, options.run === undefined && isForward ? after + 1 : 1)
    const all = rows.flatMap((row) => decodeRow(row))
    // A run that keeps stretches of others begins with its own start: its positions do not only grow.
    const run = options.run === undefined ? all.filter(({ position }) => !isForward || position > after) : runOf(all, options.run)
    const ordered = isForward ? run : run.toReversed()
    const wanted = ordered.slice(ordered.findIndex(({ position }) => position === after) + 1)
    const entries = wanted.slice(0, limit)
    const last = entries.at(-1)
    return { entries: entries.map(historyEntry), ...(wanted.length > limit && last ? { cursor: String(last.position) } : undefined) }
  }

  async why(id: string, context: WhyContext): Promise<Why> {
    const row = await this.row(id)
    const { recorded } = await loadRun(this.#store.journal, row)
    const state = new InstanceState()
    for (const item of recorded) state.apply(item)
    const steps = stepsOf(recorded)
    const { directory, flow } = this.#store
    const line = row.slots === "parked" ? await flow.waitOf(id) : undefined
    return explain({ ...context, row, state, steps, line, workers: await directory.workers(), children: await this.#openChildren(steps) })
  }

  /** Some of them: where there are many, one of them says little. */
  async #openChildren(steps: readonly StepInfo[]): Promise<ReadonlyMap<string, Status>> {
    const found = new Map<string, Status>()
    for (const { type, status, instance } of steps) {
      if (found.size === childrenMax) break
      if (type !== "child" || status !== "waiting" || instance === undefined) continue
      const child = await this.#store.directory.get(instance)
      if (child) found.set(instance, child.status)
    }
    return found
  }
}

/** A page of instances, as clients have it. */
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

function summary(row: InstanceRow, codecs: PayloadCodecs | undefined): InstanceSummary {
  const { id, workflow, version, run, status, phase, tags, queue = defaultQueue, createdAt, updatedAt } = row
  const memo = row.memo === undefined ? undefined : (storedPayload(row.memo, codecs).shown() as InstanceSummary["memo"])
  return { id, workflow, version, run, status, ...(phase ? { phase } : undefined), tags, queue, ...(memo ? { memo } : undefined), createdAt, updatedAt }
}

function historyEntry({ position, run, at, entry }: Recorded): HistoryEntry {
  const { type, ...fields } = entry
  const data: Record<string, unknown> = { ...fields }
  for (const [key, value] of Object.entries(fields)) if (value instanceof Payload) data[key] = value.shown()
  return { position, run, at, type, data }
}

export function pageLimit(limit = limitDefault): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= limitMax) return limit
  throw new PerdureError("BAD_OPTION", `limit is ${limit}; give a whole number from 1 to ${limitMax}`)
}

function storeFilter(filter: ListFilter): Filter {
  const status = filter.status === undefined ? undefined : typeof filter.status === "string" ? [filter.status] : filter.status
  for (const one of status ?? []) {
    if (!statuses.includes(one)) throw new PerdureError("BAD_OPTION", `"${String(one)}" is no status; there are ${statuses.join(", ")}`)
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
