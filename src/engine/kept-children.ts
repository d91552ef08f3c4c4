import { encodeError, Payload } from "../core/codec.ts"
import { childIncarnation } from "../core/idempotency-key.ts"
import type { InstanceState } from "../core/instance-state.ts"
import { isTerminal } from "../core/status.ts"
import type { NewInstance, NewMessage } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import { notFound, readEnding } from "./endings.ts"
import { newsToParent } from "./parting.ts"

/**
 * News of children that a restarted run keeps. One that ended in the meantime told it to the run before, or to nobody: so it is told again.
 * `state` is that of what the run keeps. Told twice does no harm.
 */
export async function newsOfKept(store: Store, { id, incarnation }: NewInstance, state: InstanceState, at: number): Promise<readonly NewMessage[]> {
  const news: NewMessage[] = []
  for (const [step, { instance, run }] of state.children.entries()) {
    const child = await store.directory.get(instance)
    const isSame = child?.incarnation === childIncarnation(incarnation, run, step)
    const parent = { instance: id, incarnation, run, step }
    if (child && isSame && isTerminal(child.status)) news.push(newsToParent(parent, await readEnding(store, child), at))
    // It was started, and is deleted: nobody will ever tell.
    else if (!isSame && !state.steps.has(step)) news.push(newsToParent(parent, { type: "run.failed", value: Payload.of(encodeError(notFound(instance))) }, at))
  }
  return news
}
