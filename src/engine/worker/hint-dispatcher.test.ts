import { expect, it } from "vitest"
import type { Hint } from "../../ports/store.ts"
import { macrotask } from "../../hosts/simulated/simulated-host.ts"
import { HintDispatcher } from "./hint-dispatcher.ts"

const moment = () => new Promise<void>((resolve) => macrotask(resolve))
const work: Hint = { work: true, ends: false, updatesAnswered: false, changed: false }
const answers: Hint = { work: false, ends: false, updatesAnswered: true, changed: false }

/** A dispatcher whose worker and listener note their calls. `checkAnswers`: what the listener does for answers. */
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

it.each(Array.from({ length: 12 }, (_, microtasks) => microtasks))("a hint that arrives %i microtasks after a round began is handled", async (microtasks) => {
  for (const hint of [work, answers]) {
    const { hintDispatcher, seen } = open()
    void hintDispatcher.handleHint(hint)
    for (let at = 0; at < microtasks; at++) await Promise.resolve()
    void hintDispatcher.handleHint(hint)
    await moment()
    expect(seen).toHaveLength(2)
  }
})

it("a hint that names instances concerns only these, unless another hint names none", async () => {
  const { hintDispatcher, seen } = open()
  await hintDispatcher.handleHint({ ...work, work: ["a"] })
  expect(seen).toEqual(["messages for a"])
  const looks = [["a"], ["b"], ["c"], true].map((of) => hintDispatcher.handleHint({ ...work, work: of as Hint["work"] }))
  await Promise.all(looks)
  expect(seen).toEqual(["messages for a", "messages for a", "work"])
})

it("the worker does not wait for the listeners", async () => {
  const { hintDispatcher, seen } = open(() => new Promise<never>(() => undefined))
  void hintDispatcher.handleHint(answers)
  await moment()
  void hintDispatcher.handleHint(work)
  await moment()
  expect(seen).toEqual(["answers", "work"])
})

it("hints that arrive during a round are merged into one more round", async () => {
  const { hintDispatcher, seen } = open(moment)
  const first = hintDispatcher.handleHint(answers)
  const others = [hintDispatcher.handleHint({ ...answers, ends: ["a"] }), hintDispatcher.handleHint({ ...answers, ends: ["b"] })]
  await Promise.all([first, ...others])
  expect(seen).toEqual(["answers", "ends", "answers"])
})
