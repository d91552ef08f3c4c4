/** Chooses instances: the id of one, or a function that gets the id of each. */
export type InstanceChoice = string | ((id: string) => boolean)

/** Undefined chooses every instance. */
export function isChosen(choice: InstanceChoice | undefined, instance: string): boolean {
  if (choice === undefined) return true
  return typeof choice === "string" ? choice === instance : choice(instance)
}
