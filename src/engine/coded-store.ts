import type { PayloadCodecs } from "../core/payload-codecs.ts"
import type { Store } from "../ports/store.ts"
import { overriding } from "./overriding.ts"

/** The store, whose journals come with the codecs that decode their values. */
export function codedStore(store: Store, codecs: PayloadCodecs): Store {
  const journal = overriding(store.journal, {
    readJournal: async (id, from) => (await store.journal.readJournal(id, from)).map((row) => ({ ...row, codecs })),
  })
  const directory = overriding(store.directory, {
    changes: async (after, limit, instance) => {
      const page = await store.directory.changes(after, limit, instance)
      return { ...page, rows: page.rows.map((row) => ({ ...row, codecs })) }
    },
  })
  return overriding(store, { journal, directory })
}
