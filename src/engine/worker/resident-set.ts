import type { InstanceRunner } from "../runner/instance-runner.ts"

/** The instances that a worker has in memory. */
export interface ResidentSet {
  /** How many more may come. */
  readonly room: number
  get(id: string): InstanceRunner | undefined
  add(runner: InstanceRunner): void
  /** False if it was not there, or another runner has taken its place. */
  remove(runner: InstanceRunner): boolean
  values(): readonly InstanceRunner[]
}
