import { describe, expect, it } from "vitest"
import { serverOfPool, serversOf } from "./server-address.ts"

describe("servers of a connection string", () => {
  it("one is what the driver takes, and its name has no password", () => {
    expect(serversOf("postgresql://app:secret@db1.example:6432/orders?sslmode=require")).toEqual([
      { connectionString: "postgresql://app:secret@db1.example:6432/orders?sslmode=require", name: 'db1.example:6432, database "orders"' },
    ])
  })

  it("several are separated by commas, each with a port of its own; user, database and settings are the same for all", () => {
    expect(serversOf("postgres://app:p%40ss@a:1,b,[::1]:3/orders?target_session_attrs=read-write&sslmode=disable")).toEqual([
      { connectionString: "postgres://app:p%40ss@a:1/orders?sslmode=disable", name: 'a:1, database "orders"' },
      { connectionString: "postgres://app:p%40ss@b/orders?sslmode=disable", name: 'b:5432, database "orders"' },
      { connectionString: "postgres://app:p%40ss@[::1]:3/orders?sslmode=disable", name: '[::1]:3, database "orders"' },
    ])
  })

  it("a wish for a server that cannot be written to is refused", () => {
    expect(() => serversOf("postgres://a,b/app?target_session_attrs=standby")).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
    expect(serversOf("postgres://a,b/app?target_session_attrs=primary").map(({ connectionString }) => connectionString)).toEqual([
      "postgres://a/app",
      "postgres://b/app",
    ])
  })

  it("what only the driver understands is left to it", () => {
    expect(serversOf("/var/run/postgresql app")).toEqual([{ connectionString: "/var/run/postgresql app", name: "where the connection string says" }])
  })

  it("a pool is named by its options, as far as it has any", () => {
    expect(serverOfPool({ options: { connectionString: "postgres://a:1/x" } })).toBe('a:1, database "x"')
    expect(serverOfPool({ options: { host: "a", port: 7, database: "x" } })).toBe('a:7, database "x"')
    expect(serverOfPool({})).toBe("where the pool connects to")
  })
})
