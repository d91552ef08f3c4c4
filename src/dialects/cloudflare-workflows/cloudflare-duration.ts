/** `"5 minutes"`, `"1 hour"` or milliseconds: the durations of Cloudflare Workflows. They have months and years, which native durations have not. */
export type WorkflowSleepDuration = `${number} ${WorkflowDurationLabel}${"s" | ""}` | number

export type WorkflowDurationLabel = "second" | "minute" | "hour" | "day" | "week" | "month" | "year"

const unitMs: ReadonlyMap<string, number> = new Map([
  ["second", 1_000],
  ["minute", 60_000],
  ["hour", 3_600_000],
  ["day", 86_400_000],
  ["week", 604_800_000],
  ["month", 2_592_000_000],
  ["year", 31_557_600_000],
])

/** NaN for what is no duration. */
export function cloudflareDurationMs(duration: unknown): number {
  if (typeof duration === "number") return duration
  if (typeof duration !== "string") return NaN
  if (duration.trim() !== "" && !Number.isNaN(Number(duration))) return Number(duration)
  const [, count = "", unit = ""] = /^(\S+) +([a-z]+?)s?$/.exec(duration) ?? []
  return count === "" ? NaN : Number(count) * (unitMs.get(unit) ?? NaN)
}
