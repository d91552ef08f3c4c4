// The workflows and activities of the section `activities`. Activities do nothing, so that only the engine and the server are measured.

import { defineActivity, workflow } from "perdure"

const taskQueue = "remote"
/** The queues that the activity workers serve. */
export const taskQueues = [taskQueue]

/** Milliseconds of a clock that all processes of a machine share. */
const sharedNow = () => Number(process.hrtime.bigint()) / 1e6

const nothing = defineActivity("nothing", { taskQueue }, async (i: number) => ({ i }))
/** Returns how many milliseconds ago it was asked for. */
const delayOf = defineActivity("delay", { taskQueue }, async (askedAt: number) => sharedNow() - askedAt)

export const activities = [nothing, delayOf]

/** Runs so many activities, one after another. */
export const activitySequence = workflow("activity-sequence", async (ctx, count: number) => {
  for (let i = 0; i < count; i++) await ctx.activity(nothing, { input: i })
  return count
})

/** Runs so many activities at once. */
export const activityFan = workflow("activity-fan", async (ctx, count: number) => {
  await Promise.all(Array.from({ length: count }, (_, i) => ctx.activity(nothing, { input: i })))
  return count
})

/** Asks for one activity, and returns how many milliseconds later it began. Code that is not replayed may read the clock. */
export const askOnce = workflow("ask", async (ctx) => ctx.activity(delayOf, { input: sharedNow() }))

/** A process that runs workflows registers no activities, so that all of them run elsewhere. */
export const activityWorkflows = [activitySequence, activityFan, askOnce]
