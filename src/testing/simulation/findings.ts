import type { RunRecord } from "./simulated-run.ts"

/** A mistake that a run shows, in words and as data. */
export interface Finding {
  readonly kind: "result" | "effects" | "stalled" | "unended" | "unawaited" | "effect outside steps"
  readonly what: string
  /** The value in the run without faults, if the finding compares two runs. */
  readonly expected?: string
  readonly found: string
  readonly hints: readonly string[]
}

/** Returns the mistake of a run that shows without comparison, if there is one. */
export function mistakesIn(run: RunRecord): Finding | undefined {
  const hints = impurityHints(run)
  const [effect] = run.effects.outsideSteps
  if (effect !== undefined) {
    return {
      kind: "effect outside steps",
      what: `effect "${effect}" happens in workflow code, outside any step`,
      found: "workflow code runs again whenever the instance is brought back to memory, and so does everything in it that is not a step",
      hints: [`do it in a step: await ctx.do(${JSON.stringify(effect)}, …)`, ...hints],
    }
  }
  if (!run.ending) {
    const because = run.why?.because.join("; ") ?? "it was never started"
    if (run.why?.status === "stalled") return { kind: "stalled", what: "it stalls", found: because, hints }
    const next = run.why?.next ? `; next, ${run.why.next.what} at ${new Date(run.why.next.at).toISOString()}` : ""
    return { kind: "unended", what: "it does not come to an end", found: `${because}${next}`, hints: [...hints, ...endlessHints(run, because)] }
  }
  const [ask] = run.unawaited
  if (ask === undefined) return undefined
  return {
    kind: "unawaited",
    what: `${ask} is never awaited`,
    found: "its result and its failure reach nobody, and it is cut off when the workflow returns first",
    hints: ["await it, or hand it to Promise.all with others; where it really does not matter, give it a .catch"],
  }
}

/** Returns the difference between the run without faults and a run with faults, if there is one. */
export function differenceOf(expected: RunRecord, run: RunRecord): Finding | undefined {
  const [before, after] = [endingText(expected), endingText(run)]
  const hints = [...impurityHints(run), ...eventHints(run)]
  if (before !== after)
    return { kind: "result", what: "its result differs", expected: before, found: after, hints: hints.length > 0 ? hints : timeHints(before, after) }
  const [effects, others] = [expected.effects.counts, run.effects.counts]
  for (const what of new Set([...effects.keys(), ...others.keys()])) {
    const [once, now] = [effects.get(what) ?? 0, others.get(what) ?? 0]
    if (once === now) continue
    const [without, found] = [`${what}: ${times(once)}`, `${what}: ${times(now)}`]
    return { kind: "effects", what: "its effects differ", expected: without, found, hints: [...keyHints(what, run), ...hints] }
  }
  return undefined
}

function endingText({ ending, others }: RunRecord): string {
  return [ending?.text ?? "no end", ...[...others].map(([id, text]) => `"${id}" ${text}`)].join("; ")
}

function times(count: number): string {
  return count === 1 ? "once" : count === 0 ? "never" : `${count} times`
}

const cures: Readonly<Record<string, string>> = {
  "Date.now()": "use ctx.now()",
  "new Date()": "use new Date(ctx.now())",
  "performance.now()": "use ctx.now()",
  "Math.random()": "use ctx.random()",
  "crypto.randomUUID()": "use ctx.uuid()",
}

function impurityHints({ impureCalls }: RunRecord): readonly string[] {
  return [...impureCalls].map(
    ([call, place]) => `workflow code calls ${call}, which is different when it runs again (${place}); ${cures[call]}, or call it in a step`,
  )
}

function eventHints({ faults }: RunRecord): readonly string[] {
  const isTwice = faults.some((fault) => fault.endsWith("was sent twice"))
  return isTwice ? ["senders that may send an event twice give it an id: sendEvent(type, payload, { eventId }); here, events: [{ …, eventId }]"] : []
}

function endlessHints({ isEndless, writes, timers }: RunRecord, because: string): readonly string[] {
  if (isEndless) return [`it was stopped after ${writes} writes and ${timers} timers: something goes round for ever, or is tried again for ever`]
  return because.includes("is running") ? ["a step's function waits for something real, or for nothing; give it a fake that answers by itself"] : []
}

function keyHints(what: string, { effects }: RunRecord): readonly string[] {
  return effects.isKeyless(what)
    ? ["a step that a crash cuts off runs again: give whatever it does the step's idempotencyKey, so that it is not done twice"]
    : ["which steps run hangs on which of several things comes first, or on something that is not in the journal"]
}

/** A hint about times: they differ first when something is late. */
function timeHints(before: string, after: string): readonly string[] {
  const timeless = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "time").replaceAll(/\b\d{13}\b/g, "time")
  return timeless(before) === timeless(after) ? ["only times differ; say what has to be the same with the option `comparable`"] : []
}
