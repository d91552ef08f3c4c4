import { expect, it } from "vitest"
import { silentLogger } from "../../hosts/silent-logger.ts"
import type { NewMessage } from "../../ports/journal-store.ts"
import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { OutgoingMessage } from "../../ports/cloudflare/object-tables.ts"
import { OutboxSender } from "./outbox-sender.ts"

const turns = () => new Promise<void>((resolve) => void setImmediate(resolve))

/** An outbox in memory, and targets that do not answer or fail. */
class OutboxFixture {
  now = 1_000
  readonly dead = new Set<string>()
  readonly silent = new Set<string>()
  readonly taken: string[] = []
  readonly #rows: OutgoingMessage[] = []
  #seq = 0
  readonly sender: OutboxSender

  constructor() {
    const tables = {
      outgoing: (limit: number, except: readonly string[] = []) => this.#rows.filter(({ message }) => !except.includes(message.instance)).slice(0, limit),
      sent: (seqs: readonly number[]) => {
        for (const seq of seqs)
          this.#rows.splice(
            this.#rows.findIndex((row) => row.seq === seq),
            1,
          )
      },
      sender: () => "me",
    }
    const network = {
      peer: (target: string) => ({
        receive: async (_from: string, batch: readonly OutgoingMessage[]) => {
          if (this.dead.has(target)) throw new Error("dead")
          if (this.silent.has(target)) await new Promise(() => undefined)
          this.taken.push(...batch.map(({ seq }) => `${target} ${seq}`))
          return []
        },
      }),
    } as unknown as ObjectNetwork
    this.sender = new OutboxSender(tables, network, () => this.now, silentLogger)
  }

  get left(): number {
    return this.#rows.length
  }

  add(...targets: readonly string[]): void {
    for (const instance of targets) this.#rows.push({ seq: ++this.#seq, message: { instance, kind: "event", at: 0 } satisfies NewMessage })
  }

  async send(isRetry = false): Promise<void> {
    this.sender.send(() => undefined, isRetry)
    await turns()
  }
}

it.each(["dead", "silent"] as const)("hundreds of messages to a target that is %s hold up no other", async (state) => {
  const fixture = new OutboxFixture()
  fixture[state].add("a")
  fixture.add(...Array<string>(250).fill("a"), "b")
  await fixture.send()
  expect(fixture.taken).toEqual(["b 251"])
  fixture.add("c", "b")
  await fixture.send()
  expect(fixture.taken).toEqual(["b 251", "c 252", "b 253"])
  expect(fixture.left).toBe(250)
})

it("a target that did not answer is told again when its time has come, and gets all in order", async () => {
  const fixture = new OutboxFixture()
  fixture.dead.add("a")
  fixture.add(...Array<string>(150).fill("a"))
  const waits = []
  for (let tries = 0; tries < 3; tries++) {
    await fixture.send(true)
    waits.push((fixture.sender.retryAt ?? 0) - fixture.now)
    fixture.now = fixture.sender.retryAt ?? 0
  }
  expect(waits).toEqual([1_000, 2_000, 4_000])
  fixture.dead.clear()
  await fixture.send()
  expect(fixture.taken).toEqual(Array.from({ length: 150 }, (_, at) => `a ${at + 1}`))
  expect(fixture.sender.retryAt).toBeUndefined()
})

it("is awake again in half a minute for a target that is being told", async () => {
  const fixture = new OutboxFixture()
  fixture.silent.add("a")
  fixture.add("a")
  await fixture.send()
  expect(fixture.sender.retryAt).toBe(fixture.now + 30_000)
})

it("tells at most a hundred targets at a time, and all in the end", async () => {
  const fixture = new OutboxFixture()
  fixture.add(...Array.from({ length: 350 }, (_, at) => `t${at}`))
  await fixture.send()
  expect(new Set(fixture.taken).size).toBe(350)
  expect(fixture.left).toBe(0)
})
