import { Validator } from "@seriousme/openapi-schema-validator"
import { createHttpApp } from "perdure/http"
import { createTestEngine } from "perdure/testing"
import { expect, it } from "vitest"
import type { OpenApiDocument } from "./openapi.ts"
import { allRoutes } from "./routes/all-routes.ts"

async function documentOf(token?: string): Promise<OpenApiDocument> {
  await using engine = await createTestEngine({ workflows: [] })
  const app = createHttpApp(engine.current, token === undefined ? {} : { token })
  const response = await app.request("/openapi.json", { headers: { authorization: `Bearer ${token}` } })
  return (await response.json()) as OpenApiDocument
}

it.each([undefined, "a-token"])("the document is valid OpenAPI 3.1 (token: %s)", async (token) => {
  const validator = new Validator()
  const { valid, errors } = await validator.validate((await documentOf(token)) as unknown as Record<string, unknown>)
  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
  expect(validator.version).toBe("3.1")
})

it("the document has every route, each under a name of its own", async () => {
  const { paths } = await documentOf()
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, (operation as { operationId: string }).operationId] as const),
  )
  const expected = allRoutes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`)
  expect(operations.map(([address]) => address).sort()).toEqual([...expected, "GET /openapi.json"].sort())
  expect(new Set(operations.map(([, name]) => name)).size).toBe(operations.length)
})

it("the document says what happens to bodies that are too slow or too large", async () => {
  const { paths } = await documentOf()
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods as object) as { requestBody?: object; responses: object }[])
  const withBody = operations.filter(({ requestBody }) => requestBody !== undefined)
  expect(withBody.length).toBeGreaterThan(10)
  for (const { responses } of withBody) expect(Object.keys(responses)).toEqual(expect.arrayContaining(["408", "413"]))
  expect(paths["/workflows"]?.["get"]).not.toHaveProperty("responses.408")
})

it("the document says where a token is needed", async () => {
  const { paths } = await documentOf("a-token")
  expect(paths["/workflows"]?.["get"]).toMatchObject({ security: [{ bearer: [] }] })
  expect(paths["/healthz"]?.["get"]).not.toHaveProperty("security")
})
