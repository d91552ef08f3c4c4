/** One event of a stream of Server-Sent Events. An event without data has only the cursor of the stream. */
export interface StreamEvent {
  readonly type: string
  readonly data: string | undefined
  readonly id: string | undefined
}

/** Splits the text of a stream into events. The text may come in chunks of any size. An empty line ends an event; a stream may end within one. */
export class SseParser {
  #rest = ""
  #type = ""
  #data: string[] = []
  #id: string | undefined

  feed(text: string): StreamEvent[] {
    const events: StreamEvent[] = []
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() ?? ""
    for (const line of lines) {
      if (line !== "") this.#field(line)
      else if (this.#data.length > 0 || this.#id !== undefined) events.push(this.#event())
    }
    return events
  }

  #event(): StreamEvent {
    const event = { type: this.#type, data: this.#data.length === 0 ? undefined : this.#data.join("\n"), id: this.#id }
    this.#type = ""
    this.#data = []
    this.#id = undefined
    return event
  }

  #field(line: string): void {
    const colon = line.indexOf(":")
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? "" : line.slice(colon + (line.charAt(colon + 1) === " " ? 2 : 1))
    if (name === "data") this.#data.push(value)
    else if (name === "event") this.#type = value
    else if (name === "id") this.#id = value
  }
}
