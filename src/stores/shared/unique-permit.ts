import type { LimitUse, UniqueUse } from "../../ports/flow-control.ts"

/** A key that at most one instance has, as a limit of one. No limit's key begins like it. */
export function uniquePermit({ kind, key }: UniqueUse): LimitUse {
  return { kind: "concurrency", workflow: "", name: kind, key: `!${kind}/${key}`, isKeyed: true, hold: true, max: 1 }
}
