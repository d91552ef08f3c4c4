import { mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Store, StoreRole } from "../../ports/store.ts"
import { claimBy, creation, event, found, turn } from "../../testing/store-conformance/sample.ts"
import { StoreBed } from "../../testing/store-conformance/store-bed.ts"
import { sqlite } from "./sqlite-provider.ts"

let folder: string
let path: string
let bed: StoreBed

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-sqlite-"))
  path = join(folder, "app.db")
  bed = new StoreBed(sqlite(path, { durability: "process", pollInterval: 1 }))
})

afterEach(async () => {
  await bed.close()
  rmSync(folder, { recursive: true })
})

const hintOf = (store: Store) =>
  new Promise<void>((resolve) => {
    const stop = store.onHint(() => {
      stop()
      resolve()
    })
  })

describe("the worker of a file", () => {
  it("is the first process that opens the file; later ones are clients, which also read and write", async () => {
    const first = await bed.open()
    const second = await bed.open()
    expect([first.role, second.role]).toEqual(["worker", "client"])
    expect(await second.standBy()).toBe("client")
    expect(await second.journal.commit([creation("i")])).toEqual(["committed"])
    expect(await first.directory.deliver([event("i")])).toEqual(["delivered"])
    expect(await second.journal.readInbox(["i"])).toHaveLength(1)
  })

  it("is followed by a store that stands by, once the worker is closed", async () => {
    const first = await bed.open()
    const second = await bed.open()
    const third = await bed.open()
    await first.close()
    expect(await second.standBy()).toBe("worker")
    expect(second.role).toBe("worker")
    expect(await second.standBy()).toBe("worker")
    expect(await third.standBy()).toBe("client")
  })

  it("is never a store that was opened as a client", async () => {
    const client = await bed.provider.open({ ...bed.context, role: "client" })
    const roles: StoreRole[] = [client.role, await client.standBy()]
    expect(roles).toEqual(["client", "client"])
    expect((await bed.open()).role).toBe("worker")
    await client.close()
  })

  it("is the only one even if the file is opened through a link", async () => {
    await bed.open()
    symlinkSync(path, join(folder, "link.db"))
    const linked = await sqlite(join(folder, "link.db")).open(bed.context)
    expect(linked.role).toBe("client")
    await linked.close()
  })

  it("needs no lock in memory, because each store has a database of its own", async () => {
    const provider = sqlite(":memory:")
    const [first, second] = [await provider.open(bed.context), await provider.open(bed.context)]
    expect([first.role, second.role]).toEqual(["worker", "worker"])
    await first.journal.commit([creation("i")])
    expect(await second.directory.get("i")).toBeUndefined()
    await first.close()
    await second.close()
  })

  it("finds the instances of a dead worker crashed at once, even if its lease has not expired", async () => {
    const first = await bed.open()
    await first.journal.renew("a", 30_000)
    await first.journal.commit([
      creation("i", { state: { status: "running", owner: "a" } }),
      creation("j", { state: { status: "sleeping", dueAt: 2_000_000, owner: "a" } }),
    ])
    await first.close()
    const second = await bed.open()
    const claimed = await second.journal.claim(claimBy({ worker: "b" }))
    expect(claimed.map(({ instance, crashed }) => [instance.id, crashed])).toEqual([["i", true]])
    expect(await second.journal.nextDueAt(claimBy().offers)).toBe(2_000_000)
    bed.now = 2_000_000
    const later = await second.journal.claim(claimBy({ worker: "b" }))
    expect(later.map(({ instance, crashed }) => [instance.id, crashed])).toEqual([["j", true]])
  })

  it("loses its turns after another worker has taken over", async () => {
    const first = await bed.open()
    const second = await bed.open()
    await first.journal.renew("a", 30_000)
    await first.journal.commit([creation("i", { state: { status: "running", owner: "a" } })])
    const [row] = await second.journal.readJournal("i", 1)
    expect(found(row).position).toBe(1)
    expect(await second.journal.commit([turn("i", 3, { state: { status: "running", owner: "b", run: 1, runPosition: 1 } })])).toEqual(["committed"])
    expect(await first.journal.commit([turn("i", 3)])).toEqual(["lost"])
  })
})

describe("two connections to a file", () => {
  it("each get a hint of the other connection's writes, not of their own", async () => {
    const first = await bed.open()
    const second = await bed.open()
    let own = 0
    const stop = first.onHint(() => own++)
    const hint = hintOf(second)
    await first.journal.commit([creation("i")])
    await hint
    stop()
    expect(own).toBe(0)
  })

  it("a turn of an instance that the other connection removed, and gave its id again, is lost", async () => {
    const first = await bed.open()
    const second = await bed.open()
    await first.journal.commit([creation("i"), turn("i", 3, { state: { status: "failed", run: 1, runPosition: 1 } })])
    expect(await second.directory.remove(["i"])).toEqual(["i"])
    expect(await first.journal.commit([turn("i", 4)])).toEqual(["lost"])
    await second.journal.commit([creation("i", { incarnation: "i~2" })])
    expect(await first.journal.commit([turn("i", 4)])).toEqual(["lost"])
    expect(await first.journal.commit([turn("i", 3, { incarnation: "i~2" })])).toEqual(["committed"])
    expect((await first.journal.readJournal("i", 1)).map((row) => row.position)).toEqual([1, 3])
  })
})
