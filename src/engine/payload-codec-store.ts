import { PayloadCodecs } from "../core/values/payload-codecs.ts"
import type { CallerTransactions } from "../ports/caller-transactions.ts"
import type { Store } from "../ports/store.ts"
import { overriding } from "./method-overrides.ts"
import type { EngineOptions } from "./settings.ts"

/** The codecs of an engine's options; undefined: there are none. */
export function payloadCodecs({ codec, retiredCodecs = [] }: Pick<EngineOptions, "codec" | "retiredCodecs">): PayloadCodecs | undefined {
  return codec === undefined && retiredCodecs.length === 0 ? undefined : new PayloadCodecs(codec, retiredCodecs)
}

/** The store with the codecs attached to each row of a journal, so that readers can decode the values. */
export function codedStore(store: Store, codecs: PayloadCodecs): Store {
  const journal = overriding(store.journal, {
    readJournal: async (id, from) => (await store.journal.readJournal(id, from)).map((row) => ({ ...row, codecs })),
  })
  const directory = overriding(store.directory, {
    // Not used: callers then read the ending from the journal, whose rows have the codecs.
    statusWithEnding: undefined,
    changes: async (after, limit, instance) => {
      const page = await store.directory.changes(after, limit, instance)
      return { ...page, rows: page.rows.map((row) => ({ ...row, codecs })) }
    },
  })
  const callerTransactions = store.callerTransactions && coded(store.callerTransactions, codecs)
  return overriding(store, callerTransactions ? { journal, directory, callerTransactions } : { journal, directory })
}

function coded(transactions: CallerTransactions, codecs: PayloadCodecs): CallerTransactions {
  return {
    within: (client, work) =>
      transactions.within(client, (store) => {
        const { journal } = store
        const readJournal: typeof journal.readJournal = async (id, from) => (await journal.readJournal(id, from)).map((row) => ({ ...row, codecs }))
        return work({ ...store, journal: overriding(journal, { readJournal }) })
      }),
  }
}
