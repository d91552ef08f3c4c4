import type { InstanceRow } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import { notFound } from "./ending-looks.ts"

/** What the store says of an instance; throws where there is none. */
export async function existingRow({ directory }: Pick<Store, "directory">, id: string): Promise<InstanceRow> {
  const row = await directory.get(id)
  if (!row) throw notFound(id)
  return row
}
