import { PerdureError } from "../core/errors.ts"

/** How `skipUntil` sees and moves a test engine. */
export interface MovedEngine {
  /** Waits until nothing happens any more. */
  settle(): Promise<void>
  /** Only time or an outside call can change something: no step runs. */
  isAtRest(): boolean
  now(): number
  /** Moves time to the next timer. False: there is none. */
  moveTime(): Promise<boolean>
}

/** The engine has timers of its own that never end, so an instance that only waits would let time move forever. */
const virtualMsMax = 20 * 365 * 86_400_000

/** How long, in real time, a running step may keep time from moving, and an engine without timers may wait for an outside call. */
const patienceMs = 1_000
const lookMs = 5
/** The test may be about to call the engine: time moves only if it does not for so many looks. */
const quietLooks = 3

export async function untilHolds(condition: () => boolean | Promise<boolean>, engine: MovedEngine): Promise<void> {
  const lastAt = engine.now() + virtualMsMax
  for (let looks = 0, quiet = 0; ; looks++) {
    await engine.settle()
    if (await condition()) return
    const isPatient = looks * lookMs < patienceMs
    quiet = engine.isAtRest() ? quiet + 1 : 0
    const mayMove = quiet >= quietLooks || !isPatient
    if (engine.now() > lastAt) throw unreachable()
    if (mayMove && (await engine.moveTime())) {
      looks = quiet = 0
      continue
    }
    if (!isPatient) throw unreachable()
    await new Promise<void>((resolve) => setTimeout(resolve, quiet < quietLooks && quiet > 0 ? 0 : lookMs))
  }
}

function unreachable(): PerdureError {
  return new PerdureError("NOTHING_MOVES", "the condition does not come to hold when only time passes; do what the instances wait for, then call skipUntil")
}
