/**
 * A cron expression of Cloudflare in our notation. Cloudflare counts the days of the week from 1 for Sunday to 7 for Saturday, and Perdure from 0 for Sunday,
 * as crontab(5) does. Names of days and all other fields are the same.
 */
export function nativeCron(cron: string): string {
  const fields = cron.trim().split(/\s+/)
  if (fields.length !== 5) return cron
  const [weekday = ""] = fields.splice(4)
  return [...fields, weekday.split(",").map(nativeWeekday).join(",")].join(" ")
}

/** The number after a slash is a step, and the number after # counts the weeks of a month. */
function nativeWeekday(part: string): string {
  return part.replace(/^(\d+)(?:-(\d+))?/, (_, from: string, to: string | undefined) => `${counted(from)}${to === undefined ? "" : `-${counted(to)}`}`)
}

/** Cloudflare has no day 0; it is left to the parser, as Sunday. */
function counted(day: string): string {
  return String(Math.max(Number(day) - 1, 0))
}
