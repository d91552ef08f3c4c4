import { silentLogger } from "../../../src/hosts/silent-logger.ts"
import { type Duration, Perdure } from "../../../src/index.ts"
import { postgres, type PostgresOptions } from "../../../src/postgres.ts"
import { ClusterProcess, type ClusterWorkerOptions } from "./cluster-process.ts"

export const steps = 10

type Client = Awaited<ReturnType<typeof Perdure.open>>

/** Worker processes and clients on one schema, for one test. */
export class ClusterBed {
  readonly schema: string
  readonly client: Client
  readonly #url: string
  readonly #processes: ClusterProcess[] = []
  readonly #clients: Client[] = []

  private constructor(url: string, schema: string, client: Client) {
    this.#url = url
    this.schema = schema
    this.client = client
  }

  /** `url`: the address for its own client, and for its workers unless they get another. */
  static async open(url: string, schema: string): Promise<ClusterBed> {
    return new ClusterBed(url, schema, await openClient({ connectionString: url, schema }))
  }

  async worker(options: Partial<ClusterWorkerOptions> = {}): Promise<ClusterProcess> {
    const one = new ClusterProcess({ url: this.#url, schema: this.schema, lease: "1s", stepMs: 20, ...options })
    this.#processes.push(one)
    await one.ready()
    return one
  }

  async anotherClient(options: Partial<PostgresOptions>): Promise<Client> {
    const client = await openClient({ schema: this.schema, ...options })
    this.#clients.push(client)
    return client
  }

  start(names: readonly string[], workflow = "count"): Promise<unknown> {
    return this.client.startBatch(names.map((id) => ({ workflow, version: "1", allowUnknown: true, id, input: steps })))
  }

  results(names: readonly string[], timeout: Duration = "60s"): Promise<unknown[]> {
    return Promise.all(names.map((id) => this.client.get(id).result({ timeout })))
  }

  async types(id: string): Promise<readonly string[]> {
    const { entries } = await this.client.get(id).history({ limit: 1_000 })
    return entries.map(({ type }) => type)
  }

  /** The errors in the journals of these instances: entries recorded twice, entries after the end, and failures. */
  async flaws(names: readonly string[]): Promise<readonly string[]> {
    const flaws: string[] = []
    for (const id of names) {
      const types = await this.types(id)
      const completed = types.filter((type) => type === "step.completed").length
      if (completed !== steps) flaws.push(`${id} has ${completed} results`)
      if (types.filter((type) => type === "run.completed").length !== 1 || types.at(-1) !== "run.completed") flaws.push(`${id} has no single end`)
      if (types.includes("step.failed")) flaws.push(`${id} has a step that failed`)
    }
    return flaws
  }

  async close(): Promise<void> {
    for (const one of this.#processes) await one.end("SIGKILL")
    for (const client of [...this.#clients, this.client]) await client.close()
  }
}

function openClient(options: PostgresOptions): Promise<Client> {
  return Perdure.open({ store: postgres(options), role: "client", log: silentLogger })
}

export const all = Array.from({ length: steps }, (_, n) => n)
export const ids = (count: number) => Array.from({ length: count }, (_, n) => `i${n}`)
