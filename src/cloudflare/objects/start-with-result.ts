import type { EngineCore } from "../../engine/engine-core.ts"

/**
 * For instances that are over as soon as they have begun: whoever has started one need not ask for its result. What it gives resolves when the
 * instance that was just created has written its next turn, or has to wait for something until then. Others are not waited for.
 */
export function quickEndings(core: EngineCore): () => Promise<void> {
  const { host, worker } = core.parts
  const { macrotaskQueue } = worker
  const waiting: (() => void)[] = []
  const goOn = () => waiting.splice(0).forEach((resolve) => resolve())
  const goOnIfIdle = () => {
    if (macrotaskQueue.idle) goOn()
  }
  macrotaskQueue.onBeat = goOnIfIdle
  // Whether that was the end is known right after.
  core.attach({ onCommit: () => void Promise.resolve().then(goOn) })
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      // What the first turn has begun may be over by then.
      host.quiesce(goOnIfIdle)
    })
}
