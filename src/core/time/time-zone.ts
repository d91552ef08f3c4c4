import { PerdureError } from "../errors.ts"
import { memo } from "../collections/memo.ts"

/**
 * Converts between instants and local wall times. A wall time is a number of milliseconds: wall = instant + offset. Only Intl knows the offset of a zone,
 * and asking Intl takes microseconds. So a zone caches, for blocks of three days, the offset and the instant of its change. No zone has ever changed its
 * offset twice within three days (Freetown came nearest, in 1939). So a block that starts and ends with one offset has no change in it.
 */

const hour = 3_600_000
const block = 72 * hour
/** The largest offset: they reach from Manila's -15:56 to Alaska's +15:02, both in the nineteenth century. */
const offsetMax = 16 * hour
/** The latest instant that a Date can hold. */
const atMax = 8.64e15

/** A change of the offset: from the instant `at` on it is `to` and no longer `from`. */
export interface OffsetChange {
  readonly at: number
  readonly from: number
  readonly to: number
}

export class TimeZone {
  readonly #blockAt: (index: number) => OffsetChange

  constructor(offsetOf: (at: number) => number) {
    const bounded = (at: number) => offsetOf(Math.max(-atMax, Math.min(atMax, at)))
    this.#blockAt = memo((index) => changeWithin(bounded, index * block, (index + 1) * block), 2000)
  }

  offsetAt(at: number): number {
    const change = this.#blockAt(Math.floor(at / block))
    return at < change.at ? change.from : change.to
  }

  /** The first change of the offset later than `after` and not later than `until`. */
  changeBetween(after: number, until: number): OffsetChange | undefined {
    for (let index = Math.floor(after / block); index * block < until; index++) {
      const change = this.#blockAt(index)
      if (change.at > after && change.at <= until) return change
    }
    return undefined
  }

  /**
   * The instant at which clocks first show this wall time or a later one. For a time that comes twice, this is the first of the two instants. For a time
   * that is skipped, it is the instant of the change.
   */
  firstInstantOf(wall: number): number {
    let from = wall - offsetMax
    let offset = this.offsetAt(from)
    for (;;) {
      const at = wall - offset
      const change = this.changeBetween(from, at)
      if (change === undefined) return at
      if (change.at + change.to >= wall) return change.at
      from = change.at
      offset = change.to
    }
  }
}

/** The change of the offset inside a block, including its end but not its start. A block without a change has one that never comes. */
function changeWithin(offsetOf: (at: number) => number, start: number, end: number): OffsetChange {
  const from = offsetOf(start)
  const to = offsetOf(end)
  if (from === to) return { at: Infinity, from, to }
  let before = start
  let after = end
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (offsetOf(middle) === from) before = middle
    else after = middle
  }
  return { at: after, from, to }
}

const form = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

/** The offset in a text of Intl such as "1/1/1970, GMT+01:00". "GMT" alone, or with +00:00, means zero. */
function offsetIn(text: string): number {
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = form.exec(text) ?? []
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === "-" ? -ms : ms
}

/** The zone with an IANA name. Throws if this host does not know the name. */
export const timeZone: (name: string) => TimeZone = memo((name) => {
  // Every host knows UTC, whatever time zone data it has.
  if (name === "UTC") return new TimeZone(() => 0)
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" })
    return new TimeZone((at) => offsetIn(format.format(at)))
  } catch (error) {
    throw new PerdureError("BAD_SCHEDULE", `time zone ${String(JSON.stringify(name))} is unknown here; give an IANA name such as "Europe/Berlin", or "UTC"`, {
      details: { timeZone: name },
      cause: error,
    })
  }
}, 200)
