/** The classes of `cloudflare:workers` that a program may extend, outside of Cloudflare. */

class WithSurroundings<Env = unknown> {
  protected ctx: unknown
  protected env: Env

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx
    this.env = env
  }
}

/** A Worker's entry for other Workers. */
export class WorkerEntrypoint<Env = unknown> extends WithSurroundings<Env> {}

/** A Durable Object. Its class can be loaded; objects of it exist only where a binding gives them. */
export class DurableObject<Env = unknown> extends WithSurroundings<Env> {}

/** An object that is passed by reference over RPC; here it is an ordinary object. */
export class RpcTarget {}
