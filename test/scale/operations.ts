// Frequent operations of workers and users, one at a time, on a store that may contain many other instances.

import { expect } from "vitest"
import type { Filter } from "../../src/ports/directory.ts"
import type { Store } from "../../src/ports/store.ts"
import { claimBy, completed, creation, event, found, turn } from "../../src/testing/store-conformance/sample.ts"

/** Runs an operation once, and returns its time, without preparation and clean-up. */
type Operation = (place: Place) => Promise<number>

export interface Place extends Store {
  /** The number of sleeping instances, "sleeping-1" and so on. */
  readonly crowd: number
  /** Counts operations, because each id is used once. */
  used: number
}

const page = { limit: 20, order: "newest" } as const

async function timed(run: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await run()
  return performance.now() - from
}

async function clear({ journal, directory }: Store, id: string, position: number): Promise<void> {
  await journal.commit([turn(id, position, { at: Date.now(), state: completed, discardInbox: true })])
  await directory.remove([id])
}

const listing =
  (filter: Filter, more: { readonly order?: "oldest"; readonly isEmpty?: true } = {}): Operation =>
  (place) =>
    timed(async () => {
      const { items } = await place.directory.list(filter, { ...page, ...(more.order === undefined ? {} : { order: more.order }) })
      expect(items).toHaveLength(more.isEmpty ? 0 : page.limit)
    })

export const operations: Readonly<Record<string, Operation>> = {
  "start and first turns": async (place) => {
    const id = `mine-${++place.used}`
    const now = Date.now()
    const ms = await timed(async () => {
      await place.journal.commit([creation(id, { createdAt: now, state: { status: "running", owner: "a" } })])
      await place.journal.commit([turn(id, 3, { at: now })])
    })
    await clear(place, id, 4)
    return ms
  },
  claim: async (place) => {
    const ids = Array.from({ length: 5 }, () => `mine-${++place.used}`)
    const now = Date.now()
    await place.journal.commit(ids.map((id) => creation(id, { createdAt: now, state: { status: "queued", dueAt: now - 1 } })))
    const ms = await timed(async () => expect(await place.journal.claim(claimBy({ limit: 50 }))).toHaveLength(5))
    for (const id of ids) await clear(place, id, 3)
    return ms
  },
  "claim where nothing is due": (place) => timed(async () => expect(await place.journal.claim(claimBy({ limit: 50 }))).toEqual([])),
  "when something is due next": (place) => timed(() => place.journal.nextDueAt(claimBy().offers)),
  "wake-up by the clock": async (place) => {
    const id = `mine-${++place.used}`
    const now = Date.now()
    await place.journal.commit([creation(id, { createdAt: now, state: { status: "running", owner: "a" } })])
    await place.journal.commit([turn(id, 3, { at: now, state: { status: "sleeping", run: 1, runPosition: 1, dueAt: now - 1 } })])
    const ms = await timed(async () => {
      expect(await place.journal.claim(claimBy({ limit: 50 }))).toHaveLength(1)
      expect(await place.journal.readJournal(id, 1)).toHaveLength(2)
    })
    await clear(place, id, 4)
    return ms
  },
  "wake-up by an event, of one of the crowd": async (place) => {
    const id = `sleeping-${1 + ((place.used++ * 7919) % place.crowd)}`
    const ms = await timed(async () => {
      expect(await place.directory.deliver([event(id)])).toEqual(["delivered"])
      expect(await place.journal.claim(claimBy({ ids: [id] }))).toHaveLength(1)
      expect(await place.journal.readInbox([id])).toHaveLength(1)
    })
    await place.journal.release("a", [id])
    const { position, count, turn: follows } = found((await place.journal.readJournal(id, 1)).at(-1))
    expect(await place.journal.commit([turn(id, position + count, { at: Date.now(), follows, discardInbox: true })])).toEqual(["committed"])
    return ms
  },
  list: listing({}),
  "list, the page after": async (place) => {
    const { cursor } = await place.directory.list({}, page)
    return timed(async () => expect((await place.directory.list({}, { ...page, ...(cursor === undefined ? {} : { cursor }) })).items).toHaveLength(page.limit))
  },
  "list of a workflow": listing({ workflow: "order" }),
  "list of a workflow, oldest first": listing({ workflow: "order" }, { order: "oldest" }),
  "list of a status": listing({ status: ["sleeping"] }),
  "list of a workflow and a status": listing({ workflow: "order", status: ["completed"] }),
  "list of a workflow and two statuses": listing({ workflow: "order", status: ["completed", "failed"] }),
  "list of a tag": listing({ tag: "crowd" }),
  "list of what is not there": listing({ workflow: "nobody", status: ["sleeping"] }, { isEmpty: true }),
  "one by its id": (place) => timed(() => place.directory.get(`sleeping-${1 + ((place.used++ * 7919) % place.crowd)}`)),
  "changes since the last": async (place) => {
    const latest = await place.directory.latestChange()
    return timed(() => place.directory.changes(latest, 10))
  },
}
