import { encodeValue, Payload } from "../../core/values/value-codec.ts"
import type { Entry, Recorded } from "../../core/journal/journal.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import type { Status } from "../../core/journal/status.ts"
import { decodeRow, hasValue } from "../../core/journal/turn-codec.ts"
import type { Store } from "../../ports/store.ts"
import type { Client, HistoryEntry, ListFilter } from "../../client-api/client-api.ts"
import type { CheckedJournal } from "./journal-check.ts"
import { loadRun } from "../runner/run-loader.ts"
import type { JournalExport } from "./read-only-replay.ts"

/** The source of journals to check: a client of the engine that runs the instances, or exported journals. */
export type JournalSource = Pick<Client, "list" | "describe" | "get"> | Iterable<JournalExport> | AsyncIterable<JournalExport>

const openStatuses = ["queued", "running", "sleeping", "waiting", "paused", "stalled"] as const satisfies readonly Status[]

const pageSize = 200

/** `codecs` decode exported journals. An engine has codecs of its own. */
export function journalsOf(source: JournalSource, filter: ListFilter = {}, codecs?: PayloadCodecs): AsyncIterable<CheckedJournal> {
  if (Symbol.asyncIterator in source || Symbol.iterator in source) return fromExports(source, codecs)
  // The journals of an engine in this process are read from its store, without decoding values.
  const components = "components" in source ? (source.components as { readonly store: Store } | undefined) : undefined
  return components ? fromStore(components.store, filter) : fromClient(source, filter)
}

async function* fromExports(
  journals: Iterable<JournalExport> | AsyncIterable<JournalExport>,
  codecs: PayloadCodecs | undefined,
): AsyncGenerator<CheckedJournal> {
  for await (const { instance, rows } of journals) yield { instance, recorded: rows.flatMap((row) => decodeRow(codecs ? { ...row, codecs } : row)) }
}

async function* fromStore(store: Store, filter: ListFilter): AsyncGenerator<CheckedJournal> {
  const { workflow, idPrefix } = filter
  const wanted = { status: openStatuses, ...(workflow === undefined ? undefined : { workflow }), ...(idPrefix === undefined ? undefined : { idPrefix }) }
  for (let cursor: string | undefined; ;) {
    const page = await store.directory.list(wanted, { limit: pageSize, order: "oldest", ...(cursor === undefined ? undefined : { cursor }) })
    for (const row of page.items) {
      // The instance may have advanced since, or may be deleted.
      const now = await store.directory.get(row.id)
      if (now === undefined || now.incarnation !== row.incarnation || now.endPosition !== undefined) continue
      yield { instance: now, status: now.status, recorded: (await loadRun(store.journal, now)).recorded }
    }
    cursor = page.cursor
    if (cursor === undefined) return
  }
}

async function* fromClient(client: Pick<Client, "list" | "describe" | "get">, filter: ListFilter): AsyncGenerator<CheckedJournal> {
  for (let cursor: string | undefined; ;) {
    const page = await client.list({ ...filter, status: openStatuses, limit: pageSize, order: "oldest", ...(cursor === undefined ? undefined : { cursor }) })
    for (const summary of page.instances) {
      const { incarnation } = await client.describe(summary.id)
      yield { instance: { ...summary, incarnation }, status: summary.status, recorded: await historyOf(client, summary.id) }
    }
    cursor = page.cursor
    if (cursor === undefined) return
  }
}

async function historyOf(client: Pick<Client, "get">, id: string): Promise<Recorded[]> {
  const recorded: Recorded[] = []
  for (let cursor: string | undefined; ;) {
    const page = await client.get(id).history({ limit: 1_000, ...(cursor === undefined ? undefined : { cursor }) })
    recorded.push(...page.entries.map(recordedOf))
    cursor = page.cursor
    if (cursor === undefined) return recorded
  }
}

/** Makes an entry of the form that a client gets. */
function recordedOf({ position, run, at, type, data }: HistoryEntry): Recorded {
  // JSON leaves out a value that is undefined.
  const value = "value" in data || hasValue(type) ? { value: Payload.of(encodeValue(data["value"], { what: type, bytesMax: Infinity })) } : undefined
  return { position, run, at, entry: { ...data, type, ...value } as unknown as Entry }
}
