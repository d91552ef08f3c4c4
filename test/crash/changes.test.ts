import type { Change } from "perdure"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { wholeEngine } from "../../src/engine/public-engine.ts"
import { CrashBed } from "./crash-bed.ts"
import { findings } from "./findings.ts"
import { makePlans } from "./plan.ts"
import { isWorker, isWorking } from "./worker-process.ts"

let bed: CrashBed

beforeEach(async () => {
  bed = await CrashBed.open()
})

afterEach(() => bed.close())

/** Follows the changes from another process than the workers. It leaves after every `leaves` changes, and continues from the cursor of the last change. */
async function follow(isOver: () => boolean, seen: Change[], leaves: number): Promise<void> {
  while (!isOver()) {
    let left = leaves
    const iterator = bed.load.engine.changes(seen.at(-1)?.cursor)[Symbol.asyncIterator]()
    while (left-- > 0) {
      const { done, value } = await iterator.next()
      if (done) return
      seen.push(value)
    }
    await iterator.return()
  }
}

describe("changes, while the workers are killed", () => {
  it("are seen once each and in order, by one who stays and by one who comes and goes", async () => {
    const plans = makePlans(7, 40)
    const stayed: Change[] = []
    const came: Change[] = []
    let isOver = false
    const following = [follow(() => isOver, stayed, Infinity), follow(() => isOver, came, 7)]
    const kills = 4
    for (let life = 0; life < kills; life++) {
      const worker = bed.spawn()
      expect(await worker.reported(isWorker, 10_000)).toBe(true)
      for (const plan of plans.slice(life * 10, life * 10 + 10)) bed.load.play(plan)
      expect(await worker.reported(isWorking, 10_000)).toBe(true)
      expect((await worker.kill()).signal).toBe("SIGKILL")
    }
    const last = bed.spawn()
    await bed.load.played()
    expect(await findings(bed, plans)).toEqual([])
    expect(await last.kill("SIGTERM")).toEqual({ code: 0, signal: null })

    const whole: Change[] = []
    const iterator = bed.load.engine.changes()[Symbol.asyncIterator]()
    const latest = await wholeEngine(bed.load.engine).components.store.directory.latestChange()
    while ((await iterator.cursor()) !== latest) {
      const { value } = await iterator.next()
      if (value) whole.push(value)
    }
    await iterator.return()
    const isCaughtUp = () => stayed.length >= whole.length && came.length >= whole.length
    while (!isCaughtUp()) await new Promise<void>((resolve) => setTimeout(resolve, 10))
    isOver = true
    await bed.load.engine.close()
    await Promise.all(following)
    const ids = (changes: readonly Change[]) => changes.map(({ id }) => id)
    expect(whole.length).toBeGreaterThan(200)
    expect(ids(stayed)).toEqual(ids(whole))
    expect(ids(came)).toEqual(ids(whole))
    expect(new Set(ids(whole)).size).toBe(whole.length)
  })
})
