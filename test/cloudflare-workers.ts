/** A stand-in for the module `cloudflare:workers`, which only workerd has. */
export class DurableObject {
  protected readonly ctx: unknown
  protected readonly env: unknown

  constructor(ctx: unknown, env: unknown) {
    this.ctx = ctx
    this.env = env
  }
}
