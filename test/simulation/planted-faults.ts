/** Faults planted in a store on purpose. A simulation that does not find them proves nothing. */
import { macrotask } from "../../src/hosts/simulated/simulated-host.ts"
import type { JournalRow, JournalStore, Turn, TurnOutcome } from "../../src/ports/journal-store.ts"
import type { Store, StoreProvider } from "../../src/ports/store.ts"
import { overriding } from "../../src/engine/method-overrides.ts"
import type { SimulationSpec } from "./driver.ts"

type Plant = NonNullable<SimulationSpec["plant"]>

/** The fence is missing: a turn at a taken position is appended behind the existing turn. */
export const withoutFence: Plant = (provider) =>
  planted(provider, (store) => ({
    journal: overriding(store.journal, {
      commit: async (turns) => {
        const outcomes = await store.journal.commit(turns)
        return Promise.all(outcomes.map(async (outcome, index) => (outcome === "lost" ? renumbered(store.journal, turns[index]!) : outcome)))
      },
    }),
  }))

async function renumbered(journal: JournalStore, turn: Turn): Promise<TurnOutcome> {
  const last = (await journal.readJournal(turn.instance, 1)).at(-1)
  if (turn.create || !last) return "lost"
  const [outcome] = await journal.commit([{ ...turn, position: last.position + last.count, follows: last.turn }])
  return outcome ?? "lost"
}

/** The fence of schedules is missing: a decision is written even if the schedule has changed. */
export const withoutRevisions: Plant = (provider) =>
  planted(provider, (store) => ({
    schedules: overriding(store.schedules, {
      write: async ({ ended: _, live: __, ...change }) => {
        const now = await store.schedules.get(change.row.id)
        return store.schedules.write({ ...change, row: { ...change.row, revision: (now?.revision ?? 0) + 1 } })
      },
    }),
  }))

/** Recorded entries are read in another order: two adjacent results are swapped. */
export const outOfOrder: Plant = (provider) =>
  planted(provider, (store) => ({
    journal: overriding(store.journal, { readJournal: async (id, from) => swapped(await store.journal.readJournal(id, from)) }),
  }))

interface RawEntry {
  readonly type: string
  readonly id?: string
}

function swapped(rows: readonly JournalRow[]): readonly JournalRow[] {
  const entries = rows.flatMap((row) => JSON.parse(row.entries) as RawEntry[])
  const results = entries
    .map(({ type, id }, index) => (type.endsWith(".completed") && id !== undefined && !id.includes("/") ? index : -1))
    .filter((index) => index >= 0)
  const first = results.find((index) => results.includes(index + 1))
  if (first === undefined) return rows
  const [one, other] = entries.slice(first, first + 2)
  entries.splice(first, 2, other!, one!)
  let taken = 0
  return rows.map((row) => ({ ...row, entries: JSON.stringify(entries.slice(taken, (taken += row.count))) }))
}

/** The store returns "committed" first and writes afterwards. A crash loses turns that are not written yet. */
export const acknowledgedFirst: Plant = (provider, { onCrash }) => {
  let unwritten: (() => Promise<unknown>)[] = []
  onCrash(() => {
    unwritten = []
  })
  const writeLater = (write: () => Promise<unknown>) => {
    unwritten.push(write)
    macrotask(() => {
      const due = unwritten
      unwritten = []
      for (const now of due) void now()
    })
  }
  return planted(provider, (store) => ({
    journal: overriding(store.journal, {
      commit: async (turns) => {
        writeLater(() => store.journal.commit(turns))
        return turns.map(() => "committed")
      },
    }),
    directory: overriding(store.directory, {
      deliver: async (messages) => {
        writeLater(() => store.directory.deliver(messages))
        return messages.map(() => "delivered")
      },
    }),
  }))
}

/** The messages of a turn are sent before the turn is written. */
export const sentFirst: Plant = (provider) =>
  planted(provider, (store) => ({
    journal: overriding(store.journal, {
      commit: async (turns) => {
        const messages = turns.flatMap(({ sends = [] }) => sends)
        if (messages.length > 0) {
          await store.directory.deliver(messages)
          for (let passed = 0; passed < 20; passed++) await new Promise<void>((resolve) => macrotask(resolve))
        }
        return store.journal.commit(turns.map((turn) => ({ ...plain(turn), sends: undefined })))
      },
    }),
  }))

/** The messages of a turn are never sent. */
export const neverSent: Plant = (provider) =>
  planted(provider, (store) => ({
    journal: overriding(store.journal, { commit: (turns) => store.journal.commit(turns.map((turn) => ({ ...plain(turn), sends: undefined }))) }),
  }))

/** Every limit admits one instance more than declared. */
export const oneTooMany: Plant = (provider) =>
  planted(provider, (store) => ({
    flow: overriding(store.flow, {
      declare: (workflows) =>
        store.flow.declare(workflows.map((declared) => ({ ...declared, limits: declared.limits.map((limit) => ({ ...limit, max: limit.max + 1 })) }))),
    }),
  }))

/** Copies a turn, because not all its members are own properties. */
function plain({
  turn,
  instance,
  incarnation,
  follows,
  run,
  position,
  at,
  count,
  entries,
  blobs,
  create,
  within,
  state,
  consumed,
  inboxSeen,
  discardInbox,
}: Turn): Turn {
  return { turn, instance, incarnation, follows, run, position, at, count, entries, blobs, create, within, state, consumed, inboxSeen, discardInbox }
}

function planted(provider: StoreProvider, plant: (store: Store) => Partial<Store>): StoreProvider {
  return {
    name: provider.name,
    open: async (context) => {
      const store = await provider.open(context)
      return overriding(store, plant(store))
    },
  }
}
