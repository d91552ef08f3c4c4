const files: ReadonlyMap<string, string> = new Map([
  ["cloudflare:workers", "cloudflare-workers-module"],
  ["cloudflare:workflows", "cloudflare-workflows-module"],
])

/** Where our module of that name is. Undefined: the name is another module's. */
export function cloudflareModuleUrl(specifier: string): string | undefined {
  const file = files.get(specifier)
  if (file === undefined) return undefined
  // The bundle for Node has this code beside the entries; the single modules have it three folders below them.
  const folder = import.meta.url.includes("/dialects/cloudflare-workflows/") ? "../../.." : "."
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js"
  return new URL(`${folder}/${file}.${extension}`, import.meta.url).href
}
