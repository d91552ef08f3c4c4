/** The result of one check. `way` is the advice. */
export interface Finding {
  readonly name: string
  readonly level: "ok" | "warn" | "fail"
  readonly message: string
  readonly way?: string
}

export const ok = (name: string, message: string): Finding => ({ name, level: "ok", message })
export const warn = (name: string, message: string, way: string): Finding => ({ name, level: "warn", message, way })
export const fail = (name: string, message: string, way: string): Finding => ({ name, level: "fail", message, way })
