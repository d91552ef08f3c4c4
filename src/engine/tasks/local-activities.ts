import type { ActivityAsk } from "../../core/execution/activity-ask.ts"
import type { AnyActivity } from "../../core/workflow/activity.ts"

export interface LocalActivitiesOptions {
  /** The task queues whose activities run in this engine. Undefined: all. */
  readonly queues: readonly string[] | undefined
  readonly concurrentMax: number
  /** The queues from which tasks are claimed at a rate. */
  readonly ratedQueues: readonly string[]
  /** The store has task queues. Otherwise all activities run where their workflow runs. */
  readonly hasQueues: boolean
  /** This engine claims tasks. Otherwise its own activities run where their workflow runs. */
  readonly claimsTasks: boolean
}

/** The activities that an engine has, and how many of them run at present. */
export class LocalActivities {
  /** Called when another activity may begin. */
  onRoom: () => void = () => undefined
  #running = 0
  readonly #byName = new Map<string, AnyActivity>()
  readonly #options: LocalActivitiesOptions

  constructor(activities: readonly AnyActivity[], options: LocalActivitiesOptions) {
    this.#options = options
    for (const activity of activities) this.#byName.set(activity.name, activity)
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()]
  }

  /** How many run, or are about to begin. */
  get running(): number {
    return this.#running
  }

  /** How many more may begin. */
  get room(): number {
    return this.#options.concurrentMax - this.#running
  }

  /** Takes room for one activity, whether or not there is any. The returned function gives it back. */
  take(): () => void {
    this.#running++
    return () => {
      this.#running--
      this.onRoom()
    }
  }

  find(name: string): AnyActivity | undefined {
    return this.#byName.get(name)
  }

  /**
   * Whether an attempt runs where its workflow runs, without a task. An activity whose heartbeats matter always gets a task, because the row of the task
   * is where heartbeats survive a crash.
   */
  runsInPlace({ name, heartbeatMs, startMs }: ActivityAsk, queue: string): boolean {
    const { queues, hasQueues, claimsTasks, ratedQueues } = this.#options
    if (!this.#byName.has(name) || queues?.includes(queue) === false) return !hasQueues
    if (!claimsTasks) return true
    if (ratedQueues.includes(queue)) return false
    return heartbeatMs === undefined && startMs === undefined && this.room > 0
  }
}
