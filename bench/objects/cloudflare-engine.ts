import { type NativeInstance, type ObjectEngine, wait, type WorkerEnv } from "./object-engine.ts"

/** Cloudflare's own engine as miniflare runs it. It does not announce the end of an instance, so the status is polled every millisecond. */
export class CloudflareEngine implements ObjectEngine {
  readonly #env: Pick<WorkerEnv, "NATIVE">

  constructor(env: Pick<WorkerEnv, "NATIVE">) {
    this.#env = env
  }

  async run(steps: number, isParallel = false): Promise<void> {
    const instance = await this.#env.NATIVE.create({ params: { steps, isParallel } })
    if ((await this.#end(instance)) !== steps) throw new Error("an instance has another result than it should")
  }

  async awaiting(): Promise<() => Promise<void>> {
    const instance = await this.#env.NATIVE.create({ params: { steps: 0, event: true } })
    // The local engine reports some waiting instances as "running". After these polls they wait.
    for (let tries = 0; tries < 50 && (await instance.status()).status !== "waiting"; tries++) await wait(1)
    return async () => {
      await instance.sendEvent({ type: "go", payload: 1 })
      await this.#end(instance)
    }
  }

  async sleep(ms: number): Promise<() => Promise<number>> {
    const startedAt = Date.now()
    const instance = await this.#env.NATIVE.create({ params: { steps: 0, sleepMs: ms } })
    const lateMs = Number(await this.#end(instance)) - startedAt - ms
    return async () => lateMs
  }

  async #end(instance: NativeInstance): Promise<unknown> {
    for (;;) {
      const { status, output, error } = await instance.status()
      if (status === "complete") return output
      if (status === "errored" || status === "terminated") throw new Error(`an instance is ${status}: ${JSON.stringify(error)}`)
      await wait(1)
    }
  }
}
