import type { OpenStep } from "../../core/journal/open-step.ts"

/** The id of the task of a step's present attempt. It is the same after a load, and distinct from the tasks of all other attempts and instances. */
export function taskId(incarnation: string, { position, attempt }: Pick<OpenStep, "position" | "attempt">): string {
  return `${incarnation}.${position}.${attempt}`
}
