/** How many tasks were claimed from a queue with a rate since the start of a period. */
export interface RatePeriod {
  readonly since: number
  readonly claimed: number
}

/** How many tasks may be claimed now. Periods begin with the first claim after the end of the period before. */
export function allowance(
  { max, perMs }: { readonly max: number; readonly perMs: number },
  period: RatePeriod | undefined,
  now: number,
): RatePeriod & { readonly left: number } {
  const isCurrent = period !== undefined && period.since <= now && now < period.since + perMs
  const { since, claimed } = isCurrent ? period : { since: now, claimed: 0 }
  return { since, claimed, left: Math.max(0, max - claimed) }
}
