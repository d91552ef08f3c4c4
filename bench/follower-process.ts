// Opens many change streams, and follows each until it has given all changes: `node follower-process.ts <url> <followers> <changes>`. See followers.ts.

import { Agent, get } from "node:http"

export interface FollowReport {
  /** Followers that got every change once, in order. */
  readonly complete: number
  readonly faults: readonly string[]
}

const [url = "", followersText, changesText] = process.argv.slice(2)
const followers = Number(followersText)
const expected = Number(changesText)
const faultsMax = 10
const openedAtOnce = 50

/** The changes of the first follower, with which the others are compared. */
const order: string[] = []
const faults: string[] = []
let complete = 0
let over = 0

class Follower {
  #text = ""
  #seen = 0
  #isOver = false

  take(text: string): void {
    this.#text += text
    for (let end = this.#text.indexOf("\n\n"); end >= 0; end = this.#text.indexOf("\n\n")) {
      const message = this.#text.slice(0, end)
      this.#text = this.#text.slice(end + 2)
      if (message.includes("\ndata: ")) this.#told(message)
    }
  }

  #told(message: string): void {
    if (order.length === this.#seen) order.push(message)
    if (order[this.#seen] !== message) return this.end(`change ${this.#seen} is another one than others were told: ${message.slice(0, 200)}`)
    if (++this.#seen === expected) this.end()
  }

  end(fault?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    if (fault === undefined) complete++
    else if (faults.length < faultsMax) faults.push(`${fault} (after ${this.#seen} changes)`)
    if (++over === followers) process.send?.({ complete, faults } satisfies FollowReport)
  }
}

const agent = new Agent({ maxSockets: Infinity })

function open(): Promise<void> {
  return new Promise((resolve) => {
    const follower = new Follower()
    get(`${url}/stream?cursor=latest`, { agent }, (response) => {
      response.setEncoding("utf8")
      response.on("data", (text: string) => follower.take(text))
      response.on("close", () => follower.end("the stream was closed"))
      response.once("data", () => resolve())
    }).on("error", (error) => {
      follower.end(error.message)
      resolve()
    })
  })
}

for (let opened = 0; opened < followers; opened += openedAtOnce) await Promise.all(Array.from({ length: Math.min(openedAtOnce, followers - opened) }, open))
process.send?.("following")
process.once("disconnect", () => process.exit(0))
