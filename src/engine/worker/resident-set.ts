import type { InstanceRunner } from "../runner/instance-runner.ts"

/** The instances that a worker has in memory: `ResidentInstances`, or the one instance of a Durable Object. */
export interface ResidentSet {
  /** How many more instances fit. */
  readonly room: number
  get(id: string): InstanceRunner | undefined
  add(runner: InstanceRunner): void
  /** False if the runner was not resident, or another runner of the same instance has replaced it. */
  remove(runner: InstanceRunner): boolean
  values(): readonly InstanceRunner[]
}
