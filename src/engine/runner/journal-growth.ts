// A worker reads the whole journal of a run when it loads the instance, and a run has a limit of steps. Users hear of both long before a run fails: from half
// of the limit on, `why` says that the journal grows, and the log says so at each further tenth of the limit.

/** How far a run is from its limit of steps. */
export interface JournalGrowth {
  /** The steps, sleeps and waits that the run has asked for. */
  readonly asked: number
  readonly stepsMax: number
}

/** The run has used at least half of its steps. */
export function isLong({ asked, stepsMax }: JournalGrowth): boolean {
  return asked >= stepsMax / 2
}

/** The run has just used half of its steps, or a further tenth. */
export function isLogged(growth: JournalGrowth): boolean {
  const { asked, stepsMax } = growth
  const tenths = (steps: number) => Math.floor((steps * 10) / stepsMax)
  return isLong(growth) && (!isLong({ asked: asked - 1, stepsMax }) || tenths(asked - 1) < tenths(asked))
}

/** What the user should know: "… has asked for 12500 steps of at most 25000, …". */
export function growthText({ asked, stepsMax }: JournalGrowth): string {
  return `has asked for ${asked} steps of at most ${stepsMax}, and its journal grows; end the run with ctx.continueAsNew`
}
