import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { CrashBed } from "./crash-bed.ts"
import { findings } from "./findings.ts"
import { makePlans } from "./plan.ts"
import { isStandingBy, isWorker, isWorking } from "./worker-process.ts"

const takeoverMsMax = 2_000

let bed: CrashBed

beforeEach(async () => {
  bed = await CrashBed.open()
})

afterEach(() => bed.close())

describe("processes that stand by", () => {
  it("one of them takes over at once when the worker is killed, and the last one finishes all the work", async () => {
    const plans = makePlans(1, 48)
    const first = bed.spawn()
    expect(await first.reported(isWorker, 10_000)).toBe(true)
    const others = [bed.spawn(), bed.spawn()]
    for (const other of others) expect(await other.reported(isStandingBy, 10_000)).toBe(true)

    for (const plan of plans.slice(0, 24)) bed.load.play(plan)
    expect(await first.reported(isWorking, 10_000)).toBe(true)
    expect(others.map((other) => other.has(isWorker))).toEqual([false, false])
    expect((await first.kill()).signal).toBe("SIGKILL")
    const second = await Promise.any(others.map(async (other) => ((await other.reported(isWorker, takeoverMsMax)) ? other : Promise.reject(new Error("late")))))
    const third = others.find((other) => other !== second)!
    expect(third.has(isWorker)).toBe(false)

    for (const plan of plans.slice(24)) bed.load.play(plan)
    expect(await second.reported(isWorking, 10_000)).toBe(true)
    expect((await second.kill()).signal).toBe("SIGKILL")
    expect(await third.reported(isWorker, takeoverMsMax)).toBe(true)
    await bed.load.played()
    expect(await findings(bed, plans)).toEqual([])
    const standing = "perdure: another process executes the workflows of this store; this one is a client and stands by\n"
    expect([first, second, third].map(({ output }) => output)).toEqual(["", standing, standing])
    expect(await third.kill("SIGTERM")).toEqual({ code: 0, signal: null })
  })
})
