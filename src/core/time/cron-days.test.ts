import { expect, test } from "vitest"
import { nextWallTime, parseCron } from "./cron.ts"

/** The days of a year on which an expression falls, as "month-day". */
function days(expression: string, year: number): string[] {
  const cron = parseCron(`0 0 ${expression}`)
  const found: string[] = []
  let wall = nextWallTime(cron, Date.UTC(year, 0))
  for (; wall !== undefined && wall < Date.UTC(year + 1, 0); wall = nextWallTime(cron, wall + 1)) found.push(new Date(wall).toISOString().slice(5, 10))
  return found
}

test.each<[string, string, number, string[]]>([
  ["the last day of a month", "L 1-4 *", 2024, ["01-31", "02-29", "03-31", "04-30"]],
  ["the last day of February in a common year", "L FEB ?", 2100, ["02-28"]],
  ["the middle and the last day", "15,L 2 *", 2023, ["02-15", "02-28"]],
  ["the last Friday, by number", "* 1-3 5L", 2024, ["01-26", "02-23", "03-29"]],
  ["the last Friday, by name", "* 1-3 FRIL", 2024, ["01-26", "02-23", "03-29"]],
  ["the last Sunday, as the seventh", "* 3,10 7L", 2024, ["03-31", "10-27"]],
  ["the last Thursday of a February with five", "* 2 thul", 2024, ["02-29"]],
  ["the second Monday", "* 1-3 MON#2", 2024, ["01-08", "02-12", "03-11"]],
  ["the first Sunday", "* 9 7#1", 2024, ["09-01"]],
  ["the fifth Friday, where there is one", "* * 5#5", 2024, ["03-29", "05-31", "08-30", "11-29"]],
  ["the first and the third Tuesday", "? 5 TUE#1,TUE#3", 2024, ["05-07", "05-21"]],
  ["a weekday itself", "15W 5 *", 2024, ["05-15"]],
  ["the Friday before a Saturday", "15W 6 *", 2024, ["06-14"]],
  ["the Monday after a Sunday", "15W 9 *", 2024, ["09-16"]],
  ["the Monday after a Saturday the first, not the month before", "1W 6 *", 2024, ["06-03"]],
  ["the Monday after a Sunday the first", "1W 9 *", 2024, ["09-02"]],
  ["the Friday before a Sunday that ends the month", "30W 6 *", 2024, ["06-28"]],
  ["no nearest weekday to a day that the month lacks", "31W 5,6,7 *", 2024, ["05-31", "07-31"]],
  ["the last weekday", "LW 3,6,8 *", 2024, ["03-29", "06-28", "08-30"]],
  ["either of two restricted days", "13 9 FRI", 2024, ["09-06", "09-13", "09-20", "09-27"]],
  ["either of two, one of them special", "L 2 MON#1", 2024, ["02-05", "02-29"]],
  ["both, where one has a star with a step", "*/2 9 FRI", 2024, ["09-13", "09-27"]],
  ["both, where the other has a star with a step", "1-10 9 */3", 2024, ["09-01", "09-04", "09-07", "09-08"]],
])("%s: %s", (_, expression, year, expected) => {
  expect(days(expression, year)).toEqual(expected)
})

test("a fifth Friday in February comes every 28 years, or after 40", () => {
  const cron = parseCron("0 0 * 2 FRI#5")
  const years: number[] = []
  let wall = nextWallTime(cron, Date.UTC(1860, 0))
  for (; wall !== undefined && years.length < 4; wall = nextWallTime(cron, wall + 1)) years.push(new Date(wall).getUTCFullYear())
  expect(years).toEqual([1884, 1924, 1952, 1980])
})
