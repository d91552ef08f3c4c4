import { type CronField, fieldShapes, parseField, parseValue, type Refusal } from "./cron-field.ts"

// The days of a month that a cron expression names. Beside numbers, a day of the month may be
//   L      the last day            15W     the weekday (Monday to Friday) nearest to the 15th, within the month
//   LW     the last weekday
// and a day of the week
//   FRIL   the last Friday         MON#2   the second Monday
// If both fields are restricted, a day counts if one of the fields names it. If one field has a `*`, also as `*/2`, a day must satisfy both. This is the
// rule of crontab(5).

export interface CronDays {
  readonly dates: DateField
  readonly weekdays: WeekdayField
}

interface DateField extends CronField {
  readonly last: boolean
  /** Dates for which the nearest weekday counts; 0 stands for the last weekday. */
  readonly nearest: readonly number[]
}

interface WeekdayField extends CronField {
  readonly lasts: readonly number[]
  readonly nths: readonly { readonly weekday: number; readonly nth: number }[]
}

export function parseDates(text: string, refuse: Refusal): DateField {
  const shape = fieldShapes.date
  let last = false
  const nearest: number[] = []
  const field = parseField(text, shape, refuse, (part) => {
    if (part === "L") last = true
    else if (part === "LW") nearest.push(0)
    else if (/^\d+W$/.test(part)) nearest.push(parseValue(part.slice(0, -1), part, shape, refuse))
    else return false
    return true
  })
  return { ...field, last, nearest }
}

export function parseWeekdays(text: string, refuse: Refusal): WeekdayField {
  const shape = fieldShapes.weekday
  const lasts: number[] = []
  const nths: { weekday: number; nth: number }[] = []
  const field = parseField(text, shape, refuse, (part) => {
    const [, day = "", mark = "", nth = ""] = /^([A-Z0-9]+?)(L|#(.*))$/.exec(part) ?? []
    if (mark === "") {
      if (part === "L") throw refuse(part, "the last of which day? Write FRIL for the last Friday")
      return false
    }
    const weekday = parseValue(day, part, shape, refuse) % 7
    if (mark === "L") lasts.push(weekday)
    else if (/^[1-5]$/.test(nth)) nths.push({ weekday, nth: Number(nth) })
    else throw refuse(part, "a month has a first to a fifth of each day: #1 to #5")
    return true
  })
  return { ...field, values: [...new Set(field.values.map((value) => value % 7))].sort((a, b) => a - b), lasts, nths }
}

/** The days as bits, with bit 0 for the first of the month. `firstWeekday` is the weekday of the first. */
export function daysOfMonth({ dates, weekdays }: CronDays, length: number, firstWeekday: number): number {
  const byDate = datesOfMonth(dates, length, firstWeekday)
  const byWeekday = weekdaysOfMonth(weekdays, length, firstWeekday)
  return dates.wild || weekdays.wild ? byDate & byWeekday : byDate | byWeekday
}

function datesOfMonth(dates: DateField, length: number, firstWeekday: number): number {
  let days = 0
  for (const date of dates.values) if (date <= length) days |= bit(date)
  if (dates.last) days |= bit(length)
  for (const date of dates.nearest) if (date <= length) days |= bit(nearestWeekday(date === 0 ? length : date, length, firstWeekday))
  return days
}

function nearestWeekday(date: number, length: number, firstWeekday: number): number {
  const weekday = (firstWeekday + date - 1) % 7
  if (weekday === 6) return date > 1 ? date - 1 : date + 2
  if (weekday === 0) return date < length ? date + 1 : date - 2
  return date
}

function weekdaysOfMonth(weekdays: WeekdayField, length: number, firstWeekday: number): number {
  let days = 0
  const first = (weekday: number) => 1 + ((weekday - firstWeekday + 7) % 7)
  for (const weekday of weekdays.values) for (let date = first(weekday); date <= length; date += 7) days |= bit(date)
  for (const weekday of weekdays.lasts) days |= bit(first(weekday) + (first(weekday) + 28 <= length ? 28 : 21))
  for (const { weekday, nth } of weekdays.nths) {
    const date = first(weekday) + 7 * (nth - 1)
    if (date <= length) days |= bit(date)
  }
  return days
}

function bit(date: number): number {
  return 1 << (date - 1)
}
