import { expect, it } from "vitest"
import type { Hint } from "../../ports/store.ts"
import { macrotask } from "../../hosts/simulated/simulated-host.ts"
import { HintDispatcher } from "./hint-dispatcher.ts"

const moment = () => new Promise<void>((resolve) => macrotask(resolve))
const work: Hint = { work: true, ends: false, updatesAnswered: false, changed: false }
const answers: Hint = { work: false, ends: false, updatesAnswered: true, changed: false }

/** A lookout that notes what it looks at, and the look at answers as the test has it. */
function open(checkAnswers: () => Promise<void> = () => Promise.resolve()) {
  const seen: string[] = []
  const note = (what: string) => async () => void seen.push(what)
  const waiters = {
    refresh: ({ ends, updatesAnswered: isAnswer }: Hint) => {
      if (ends !== false) seen.push("ends")
      if (!isAnswer) return Promise.resolve()
      seen.push("answers")
      return checkAnswers()
    },
  }
  const worker = { refresh: note("work"), hint: (ids: readonly string[]) => void seen.push(`messages for ${ids.join()}`) }
  return { hintDispatcher: new HintDispatcher(worker, [waiters]), seen }
}

it.each(Array.from({ length: 12 }, (_, microtasks) => microtasks))("what is told %i microtasks after a look began is looked at", async (microtasks) => {
  for (const hint of [work, answers]) {
    const { hintDispatcher, seen } = open()
    void hintDispatcher.handleHint(hint)
    for (let at = 0; at < microtasks; at++) await Promise.resolve()
    void hintDispatcher.handleHint(hint)
    await moment()
    expect(seen).toHaveLength(2)
  }
})

it("messages for certain instances are looked for there alone, unless anything may be there", async () => {
  const { hintDispatcher, seen } = open()
  await hintDispatcher.handleHint({ ...work, work: ["a"] })
  expect(seen).toEqual(["messages for a"])
  const looks = [["a"], ["b"], ["c"], true].map((of) => hintDispatcher.handleHint({ ...work, work: of as Hint["work"] }))
  await Promise.all(looks)
  expect(seen).toEqual(["messages for a", "messages for a", "work"])
})

it("work does not wait for those who wait for something", async () => {
  const { hintDispatcher, seen } = open(() => new Promise<never>(() => undefined))
  void hintDispatcher.handleHint(answers)
  await moment()
  void hintDispatcher.handleHint(work)
  await moment()
  expect(seen).toEqual(["answers", "work"])
})

it("what is told during a look is one more look, for all that was told", async () => {
  const { hintDispatcher, seen } = open(moment)
  const first = hintDispatcher.handleHint(answers)
  const others = [hintDispatcher.handleHint({ ...answers, ends: ["a"] }), hintDispatcher.handleHint({ ...answers, ends: ["b"] })]
  await Promise.all([first, ...others])
  expect(seen).toEqual(["answers", "ends", "answers"])
})
