import { DurableObject } from "cloudflare:workers"

/** Nothing but storage: for what is tested below the workflow runner. */
export class BareObject extends DurableObject {}

export default { fetch: (): Response => new Response("only for tests") }
