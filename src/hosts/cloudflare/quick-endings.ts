import type { Entry } from "../../core/journal.ts"
import type { EngineCore } from "../../engine/engine-core.ts"

/**
 * For instances that are over as soon as they have begun: whoever has started one need not ask for its result. What it gives starts one, and
 * tells its end if that is in its second turn at the latest, and nothing has to be waited for until then.
 */
export function quickEndings(core: EngineCore): (start: () => Promise<string>) => Promise<readonly [id: string, ending: Entry | undefined]> {
  const { host, worker } = core.parts
  const { pulse } = worker
  const waiting: (() => void)[] = []
  /** Since the last start. */
  let ending: Entry | undefined
  const goOn = () => waiting.splice(0).forEach((resolve) => resolve())
  const goOnIfIdle = () => {
    if (pulse.idle) goOn()
  }
  pulse.onBeat = goOnIfIdle
  core.attach({
    ended(_, entry) {
      ending = entry
    },
    // Whether that was the end is told right after.
    written: () => void Promise.resolve().then(goOn),
  })
  return async (start) => {
    ending = undefined
    const id = await start()
    if (ending === undefined) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        // What the first turn has begun may be over by then.
        host.quiesce(goOnIfIdle)
      })
    }
    return [id, ending]
  }
}
