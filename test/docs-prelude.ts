/** What the short snippets of the documentation take for granted: those that import nothing themselves begin with this. */
export const prelude = `
import { type Context, type Engine, type Handle, NonRetryableError, Perdure, PerdureError, workflow } from "perdure"
import { createHttpApp, serve } from "perdure/http"

interface Events {
  approval: { by: string }
  comment: string
}
declare const ctx: Context<Events>
declare const engine: Engine
declare const handle: Handle<unknown, Events>
declare const review: ReturnType<typeof reviewOf>
function reviewOf() {
  return workflow("review", async (_: Context<Events>) => "done")
}
declare const order: typeof review
declare function lookUp(what: string): Promise<string>
declare function ship(what: string): Promise<void>
declare function isBusy(error: unknown): boolean
declare function isExpired(what: string): boolean
`
