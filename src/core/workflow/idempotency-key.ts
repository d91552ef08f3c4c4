/**
 * The idempotency key of a step. It is the same for every attempt, and another one after a restart. `run` is the run that asked for the step first.
 */
export function idempotencyKey(sha256: (text: string) => string, incarnation: string, run: number, step: string): string {
  return sha256(`${incarnation}\n${run}\n${step}`)
}
