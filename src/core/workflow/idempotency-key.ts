/**
 * Names a step for whoever must not do it twice: the same for every attempt, another after a restart. `run` is the one that asked for it first.
 * `sha256`: of a text, in hex.
 */
export function idempotencyKey(sha256: (text: string) => string, incarnation: string, run: number, step: string): string {
  return sha256(`${incarnation}\n${run}\n${step}`)
}
