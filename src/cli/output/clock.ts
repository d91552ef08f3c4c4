import { formatDuration } from "../../core/time/duration.ts"

const two = (value: number) => String(value).padStart(2, "0")
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
const dayMs = 24 * 60 * 60 * 1000

/** An instant in local time: `14:03:22` today, `Nov 16 14:03` within some months, otherwise `2025-11-16`. */
export function shortTime(at: number, now: number): string {
  const date = new Date(at)
  const today = new Date(now)
  if (date.toDateString() === today.toDateString()) return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  if (Math.abs(now - at) < 180 * dayMs)
    return `${months[date.getMonth()]} ${String(date.getDate()).padStart(2)} ${two(date.getHours())}:${two(date.getMinutes())}`
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** An instant relative to now: `3m ago`, `in 2h`, `now`. */
export function relativeTime(at: number, now: number): string {
  const away = Math.abs(now - at)
  if (away < 1000) return "now"
  const duration = formatDuration(away < 60_000 ? Math.floor(away / 1000) * 1000 : away)
  return at <= now ? `${duration} ago` : `in ${duration}`
}
