import type { Status } from "../../core/journal/status.ts"
import type { Io, Sink } from "../io.ts"

export type Paint = (text: string) => string

/** Colours of a terminal, or none. */
export interface Style {
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly blue: Paint
  readonly magenta: Paint
  readonly cyan: Paint
}

function paint(colourful: boolean, open: number, close: number): Paint {
  return colourful ? (text) => (text === "" ? "" : `\u001b[${open}m${text}\u001b[${close}m`) : (text) => text
}

export function styleOf(colourful: boolean): Style {
  return {
    bold: paint(colourful, 1, 22),
    dim: paint(colourful, 2, 22),
    red: paint(colourful, 31, 39),
    green: paint(colourful, 32, 39),
    yellow: paint(colourful, 33, 39),
    blue: paint(colourful, 34, 39),
    magenta: paint(colourful, 35, 39),
    cyan: paint(colourful, 36, 39),
  }
}

/** Only on a terminal. NO_COLOR takes them away, FORCE_COLOR gives them anywhere (but not as "0"), whatever the terminal says. */
export function isColourful(io: Pick<Io, "env">, sink: Sink): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.env
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false"
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false
  return sink.isTTY === true && TERM !== "dumb"
}

/** The colour that a status has everywhere. */
export function statusStyle(style: Style, status: Status): Paint {
  switch (status) {
    case "completed":
      return style.green
    case "failed":
    case "stalled":
      return style.red
    case "cancelled":
    case "terminated":
      return style.magenta
    case "running":
      return style.blue
    case "paused":
      return style.yellow
    case "queued":
    case "sleeping":
    case "waiting":
      return style.cyan
  }
}
