import type { Directory } from "../../ports/directory.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import { notFound } from "./ending-lookup.ts"

/** What the store says of an instance; throws where there is none. */
export async function existingRow({ directory }: { readonly directory: Pick<Directory, "get"> }, id: string): Promise<InstanceRow> {
  const row = await directory.get(id)
  if (!row) throw notFound(id)
  return row
}
