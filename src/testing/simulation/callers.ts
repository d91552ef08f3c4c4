import { PerdureError } from "../../core/errors.ts"
import type { Engine } from "../../engine/engine.ts"
import type { SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import { StoreFaultError } from "../faulty-store.ts"
import type { SimulatedProcess } from "./simulated-process.ts"

const patienceMs = 20_000

/** Makes calls to the engine from outside, and repeats a call whose outcome is unknown. */
export class Callers {
  readonly #host: SimulatedHost
  readonly #living: () => Promise<SimulatedProcess>

  constructor(host: SimulatedHost, living: () => Promise<SimulatedProcess>) {
    this.#host = host
    this.#living = living
  }

  /** Repeats the call until the engine answers. A refusal is an answer too. */
  async untilAnswered(ask: (engine: Engine) => Promise<unknown>): Promise<void> {
    while (!(await this.#isAnswered(ask)));
  }

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#host.setTimer(this.#host.now() + ms, resolve)
    })
  }

  async #isAnswered(ask: (engine: Engine) => Promise<unknown>): Promise<boolean> {
    const process = await this.#living()
    const { engine } = process
    if (!engine) return false
    const asked = ask(engine).then(() => true, isAnswer)
    const unknown = () => false
    return Promise.race([asked, process.died.then(unknown), this.pass(patienceMs).then(unknown)])
  }
}

/** The error says what became of the request; after any other error the outcome is unknown. */
function isAnswer(error: unknown): boolean {
  return PerdureError.is(error) ? error.code !== "ENGINE_CLOSED" && error.code !== "STORE_FAILED" : !(error instanceof StoreFaultError)
}
