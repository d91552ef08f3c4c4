/** A kind of binding that wrangler.jsonc may name. */
export interface BindingKind {
  /** The key of the kind in wrangler.jsonc. Dots lead to keys inside of keys. */
  readonly key: string
  /** The kind as people call it. */
  readonly label: string
  /** The key of the name of a binding. Default `binding`. */
  readonly nameKey?: "name"
}

const miniflareKinds = new Set(["kv_namespaces", "d1_databases", "r2_buckets", "durable_objects.bindings"])

/** Whether miniflare can supply the binding. */
export function isFromMiniflare({ kind }: { readonly kind: BindingKind }): boolean {
  return miniflareKinds.has(kind.key)
}

/** All kinds but workflows and vars. */
export const bindingKinds: readonly BindingKind[] = [
  { key: "kv_namespaces", label: "KV namespace" },
  { key: "d1_databases", label: "D1 database" },
  { key: "r2_buckets", label: "R2 bucket" },
  { key: "durable_objects.bindings", label: "Durable Object", nameKey: "name" },
  { key: "services", label: "service" },
  { key: "queues.producers", label: "queue" },
  { key: "ai", label: "AI" },
  { key: "ai_search", label: "AI search" },
  { key: "ai_search_namespaces", label: "AI search namespace" },
  { key: "agent_memory", label: "agent memory" },
  { key: "analytics_engine_datasets", label: "analytics dataset" },
  { key: "artifacts", label: "artifacts" },
  { key: "assets", label: "assets" },
  { key: "browser", label: "browser" },
  { key: "dispatch_namespaces", label: "dispatch namespace" },
  { key: "flagship", label: "feature flags" },
  { key: "hyperdrive", label: "Hyperdrive" },
  { key: "images", label: "images" },
  { key: "media", label: "media" },
  { key: "mtls_certificates", label: "mTLS certificate" },
  { key: "pipelines", label: "pipeline" },
  { key: "ratelimits", label: "rate limit", nameKey: "name" },
  { key: "secrets_store_secrets", label: "secret of a store" },
  { key: "send_email", label: "email", nameKey: "name" },
  { key: "stream", label: "stream" },
  { key: "unsafe.bindings", label: "unsafe binding", nameKey: "name" },
  { key: "unsafe_hello_world", label: "hello world" },
  { key: "vectorize", label: "Vectorize index" },
  { key: "version_metadata", label: "version metadata" },
  { key: "vpc_networks", label: "VPC network" },
  { key: "vpc_services", label: "VPC service" },
  { key: "worker_loaders", label: "worker loader" },
]
