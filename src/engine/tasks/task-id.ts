import type { OpenStep } from "../../core/journal/open-step.ts"

/** The id of the task of a step's present attempt. It is the same after a load, and distinct from the tasks of all other attempts and instances. */
export function taskId(incarnation: string, { position, attempt }: Pick<OpenStep, "position" | "attempt">): string {
  return `${incarnation}.${position}.${attempt}`
}

/** The key of an activity for services that must not act twice. `id`: the task of any of its attempts, also of one that runs in place and has no task. */
export function activityKey(sha256: (text: string) => string, id: string): string {
  return sha256(id.slice(0, id.lastIndexOf(".")))
}
