import { PerdureError } from "../../core/errors.ts"
import { startFailure } from "../../client-api/start-each.ts"
import type { Turn } from "../../ports/journal-store.ts"
import type { BatchItem, BatchResult, StartOptions } from "../../client-api/client-api.ts"
import type { WriteScope } from "./write-scope.ts"
import type { StartRequest, InstanceStarter } from "./instance-starter.ts"

interface BatchStarter {
  prepare(item: BatchItem): Promise<StartRequest>
  within<T>(work: (writeScope: WriteScope) => Promise<T>): Promise<T>
  turnOf(startRequest: StartRequest): Turn
  startAt(writeScope: WriteScope, startRequest: StartRequest, options: StartOptions<unknown>): Promise<string>
}

export function batchStarterOf(starter: InstanceStarter, transaction: unknown): BatchStarter {
  return {
    prepare: async ({ workflow, ...options }) => starter.prepare(workflow, options),
    within: (work) => starter.within(transaction, work),
    turnOf: (startRequest) => starter.creationTurn(startRequest),
    startAt: (writeScope, startRequest, options) => starter.startAt(writeScope, startRequest, options),
  }
}

type Prepared = Ready | { readonly item: BatchItem; readonly error: PerdureError }

interface Ready {
  readonly item: BatchItem
  readonly startRequest: StartRequest
  /** True if only a taken id can make the start fail. All such starts are written in one commit. */
  readonly isPlain: boolean
}

/** Starts many instances in one transaction of the caller. An item that fails does not hinder the other items. */
export async function startWithin(items: readonly BatchItem[], starter: BatchStarter): Promise<readonly BatchResult[]> {
  const prepared = await prepareAll(items, starter)
  return starter.within(async (writeScope) => {
    const plain = prepared.filter((one): one is Ready => "startRequest" in one && one.isPlain)
    const turns = plain.map(({ startRequest }) => starter.turnOf(startRequest))
    const outcomes = turns.length === 0 ? [] : await writeScope.store.journal.commit(turns)
    const written = new Set<Prepared>(plain.filter((_, at) => outcomes[at] === "committed"))
    const results: BatchResult[] = []
    for (const one of prepared) {
      if ("error" in one) results.push({ id: one.item.id ?? "", created: false, error: one.error })
      else if (written.has(one)) results.push({ id: one.startRequest.instance.id, created: true })
      else results.push(await startOne(one.item, one.startRequest, (options) => starter.startAt(writeScope, one.startRequest, options)))
    }
    return results
  })
}

async function startOne(item: BatchItem, startRequest: StartRequest, start: (options: StartOptions<unknown>) => Promise<string>): Promise<BatchResult> {
  try {
    return { id: await start(item), created: true }
  } catch (error) {
    // An error of the database has broken the transaction of the caller, so the whole batch fails.
    if (!PerdureError.is(error)) throw error
    return { id: startRequest.instance.id, created: false, error }
  }
}

async function prepareAll(items: readonly BatchItem[], starter: BatchStarter): Promise<readonly Prepared[]> {
  const ids = new Set<string>()
  const prepared: Prepared[] = []
  for (const item of items) {
    try {
      const startRequest = await starter.prepare(item)
      const { id, flow } = startRequest.instance
      prepared.push({ item, startRequest, isPlain: !ids.has(id) && startRequest.debounce === undefined && flow?.unique === undefined })
      ids.add(id)
    } catch (error) {
      prepared.push({ item, error: startFailure(error) })
    }
  }
  return prepared
}
