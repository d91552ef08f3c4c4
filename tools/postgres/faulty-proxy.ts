// A proxy between a client and PostgreSQL that knows enough of the protocol (version 3) to cause a fault at a chosen statement.

import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { MessageReader, messageTypes, farewell, refusal, rollback, statementOf } from "./wire-messages.ts"

export type Harm =
  /** The connection is cut before the server gets the statement, */
  | "cut before"
  /** or after the server has executed the statement, and before the client gets the answer. */
  | "cut after"
  /** The proxy answers the statement with this error, and rolls it back. */
  | { readonly sqlState: string }
  | { readonly delayMs: number }

export interface Fault {
  /** The statement's text, or the name under which it was prepared. */
  readonly at: RegExp
  readonly harm: Harm
  /** How often the fault happens. */
  times: number
}

export class FaultyProxy {
  readonly #server: Server
  readonly #links = new Set<Link>()
  readonly #faults = new Set<Fault>()
  readonly #target: number
  /** How often a fault has happened. */
  hits = 0
  #silent = false
  #refusing = false
  #farewells = 0

  private constructor(server: Server, target: number) {
    this.#server = server
    this.#target = target
    server.on("connection", (socket) => {
      if (this.#refusing) return void socket.destroy()
      const link = new Link(socket, connect(this.#target, "127.0.0.1"), this)
      this.#links.add(link)
      socket.once("close", () => this.#links.delete(link))
    })
  }

  /** The proxy stands before the server of that URL. */
  static async before(url: string): Promise<FaultyProxy> {
    const server = createServer()
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return new FaultyProxy(server, Number(new URL(url).port))
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The URL of the same database, through the proxy. */
  url(direct: string): string {
    const url = new URL(direct)
    url.port = String(this.port)
    return url.href
  }

  inject(at: RegExp, harm: Harm, times = Infinity): Fault {
    const fault = { at, harm, times }
    this.#faults.add(fault)
    return fault
  }

  heal(): void {
    this.#faults.clear()
    this.#refusing = false
    this.#silent = false
    for (const link of this.#links) link.goOn()
  }

  /** All connections end, without a message to the client. */
  cut(): void {
    for (const link of this.#links) link.cut()
  }

  /** All connections end as with `cut`, and no new connection is accepted. */
  refuse(): void {
    this.#refusing = true
    this.cut()
  }

  /** This many connections end right after the server's greeting, in one packet with it. */
  greetAndEnd(times: number): void {
    this.#farewells = times
  }

  takeFarewell(): boolean {
    return this.#farewells-- > 0
  }

  /** Connections stay open, and the proxy passes nothing on in either direction. */
  silence(): void {
    this.#silent = true
  }

  get isSilent(): boolean {
    return this.#silent
  }

  /** The fault for a statement, if there is any. */
  harmAt(statement: string): Harm | undefined {
    for (const fault of this.#faults) {
      if (fault.times <= 0 || !fault.at.test(statement)) continue
      fault.times--
      this.hits++
      return fault.harm
    }
    return undefined
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close")
    this.#server.close()
    this.cut()
    await closed
  }
}

/** One connection of a client, and the proxy's connection to the server for it. */
class Link {
  readonly #client: Socket
  readonly #server: Socket
  readonly #proxy: FaultyProxy
  readonly #fromClient = new MessageReader(true)
  readonly #fromServer = new MessageReader(false)
  /** Messages that wait while the proxy passes nothing on. */
  readonly #held: { readonly to: Socket; readonly bytes: Buffer }[] = []
  /** The client's messages belong to a refused statement, up to the end of that statement. */
  #isRefusing: string | undefined
  /** How many answers of the server the proxy drops, and what it does then. */
  #unheard = 0
  #afterwards: () => void = () => {}
  #isInTransaction = false
  #isGreeted = false
  #delayed: Promise<void> = Promise.resolve()

  constructor(client: Socket, server: Socket, proxy: FaultyProxy) {
    this.#client = client
    this.#server = server
    this.#proxy = proxy
    client.on("data", (bytes: Buffer) => this.#fromClient.read(bytes).forEach((message) => this.#toServer(message)))
    server.on("data", (bytes: Buffer) => this.#fromServer.read(bytes).forEach((message) => this.#toClient(message)))
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on("error", () => this.cut())
      socket.on("close", () => this.cut())
    }
  }

  cut(): void {
    this.#client.destroy()
    this.#server.destroy()
  }

  goOn(): void {
    for (const { to, bytes } of this.#held.splice(0)) to.write(bytes)
  }

  #toServer(message: Buffer): void {
    const type = message[0]
    if (this.#isRefusing !== undefined) {
      if (type === messageTypes.sync) this.#refuse(this.#isRefusing, message)
      return
    }
    const statement = statementOf(message)
    const harm = statement === undefined ? undefined : this.#proxy.harmAt(statement)
    if (harm === undefined) return this.#pass(this.#server, message)
    if (harm === "cut before") return this.cut()
    if (harm === "cut after") this.#swallow(1, () => this.cut())
    else if ("delayMs" in harm) this.#delayed = this.#delayed.then(() => new Promise((resolve) => setTimeout(resolve, harm.delayMs)))
    else if (type === messageTypes.query) return this.#refuse(harm.sqlState)
    else return void (this.#isRefusing = harm.sqlState)
    this.#pass(this.#server, message)
  }

  /** As on the server, the transaction is lost with the statement. A statement that was prepared before stays prepared. */
  #refuse(sqlState: string, sync?: Buffer): void {
    this.#isRefusing = undefined
    const instead = [...(sync ? [sync] : []), ...(this.#isInTransaction ? [rollback()] : [])]
    const answer = () => this.#pass(this.#client, refusal(sqlState))
    if (instead.length === 0) return answer()
    this.#swallow(instead.length, answer)
    for (const message of instead) this.#pass(this.#server, message)
  }

  #swallow(answers: number, afterwards: () => void): void {
    this.#unheard = answers
    this.#afterwards = afterwards
  }

  #toClient(message: Buffer): void {
    const type = message[0]
    if (type === messageTypes.readyForQuery) {
      this.#isInTransaction = message[5] !== "I".charCodeAt(0)
      const isGreeting = !this.#isGreeted
      this.#isGreeted = true
      if (isGreeting && this.#proxy.takeFarewell()) {
        this.#pass(this.#client, Buffer.concat([message, farewell()]))
        return void setTimeout(() => this.cut(), 50)
      }
    }
    if (this.#unheard === 0 || type === messageTypes.parseComplete) return this.#pass(this.#client, message)
    if (type === messageTypes.readyForQuery && --this.#unheard === 0) this.#afterwards()
  }

  #pass(to: Socket, bytes: Buffer): void {
    void this.#delayed.then(() => {
      if (this.#proxy.isSilent) this.#held.push({ to, bytes })
      else if (!to.destroyed) to.write(bytes)
    })
  }
}
