import { expect, it } from "vitest"
import { StepLine } from "./step-line.ts"

/** Attempts by name, and the order in which they got their places. */
function line(places: number) {
  const stepLine = new StepLine(places)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const ask = (instance: string, bornAt: number, step = "a", priority = 0) => {
    const place = stepLine.place(priority, bornAt, { instance, step })
    place.begin(() => {
      begun.push(`${instance}.${step}`)
      ends.set(`${instance}.${step}`, () => place.end())
    })
    return place
  }
  return { stepLine, begun, ask, end: (name: string) => ends.get(name)?.(), endAll: () => begun.forEach((name) => ends.get(name)?.()) }
}

it("every second place is for whoever came first, the others are for the oldest instances", () => {
  const { begun, ask, end } = line(1)
  ask("busy", 9)
  for (const [at, instance] of ["young", "middle", "old"].entries()) for (const step of ["a", "b"]) ask(instance, 3 - at, step)
  for (let at = 0; at < 6; at++) end(begun[at]!)
  expect(begun).toEqual(["busy.a", "old.a", "young.a", "old.b", "young.b", "middle.a", "middle.b"])
})

it("of instances that were created at the same moment, the same ones are first each time", () => {
  const { begun, ask, end } = line(1)
  ask("busy", 0)
  for (const step of ["a", "b"]) for (const instance of ["c", "b", "a"]) ask(instance, 5, step)
  for (let at = 0; at < 6; at++) end(begun[at]!)
  expect(begun.slice(1)).toEqual(["a.a", "c.a", "a.b", "b.a", "b.b", "c.b"])
})

it("a higher priority goes before both, and what goes on before all", () => {
  const { begun, ask, end } = line(1)
  const busy = ask("busy", 0)
  ask("old", 1)
  ask("important", 9, "a", 1)
  busy.ask()
  expect(begun).toEqual(["busy.a", "important.a"])
  let goesOn = false
  busy.answer(() => (goesOn = true))
  end("important.a")
  expect([goesOn, begun]).toEqual([true, ["busy.a", "important.a"]])
  end("busy.a")
  expect(begun.at(-1)).toBe("old.a")
})

it("those who wait are counted once, however many have been called out of their turn or gave up", () => {
  const { stepLine, begun, ask, end } = line(1)
  ask("busy", 0)
  const young = Array.from({ length: 500 }, (_, at) => ask(`young${at}`, 1_000 + at))
  for (let at = 0; at < 200; at++) {
    ask("old", 1, String(at))
    end(begun.at(-1)!)
  }
  expect(stepLine.waiting).toBe(500)
  for (const place of young) place.end()
  expect(stepLine.waiting + begun.filter((name) => name.startsWith("young")).length).toBeLessThanOrEqual(500)
  while (stepLine.waiting > 0) end(begun.at(-1)!)
  expect(new Set(begun).size).toBe(begun.length)
  expect(begun.filter((name) => name.startsWith("old"))).toHaveLength(200)
})
