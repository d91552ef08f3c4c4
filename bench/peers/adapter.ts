// What the workloads know of an engine: the few things that all of them can do, in the same words for each.

/** How many steps: after another, or at once. `listener` waits for one event, `sleeper` sleeps; their input is their own number, which they ring with. */
export type WorkflowKind = "sequence" | "fan" | "listener" | "sleeper"

export interface Peer {
  /** Durably, unless the engine's own way to start and to await is one call. */
  start(kind: WorkflowKind, input: number): Promise<Started>
  /** To the listener with this number. Resolves when the engine has taken the event. */
  sendEvent(listener: number, value: number): Promise<void>
  close(): Promise<void>
}

export interface Started {
  result(): Promise<number>
}

export interface RestateAddress {
  readonly ingressUrl: string
  readonly adminUrl: string
}

/** Where an engine finds what it needs. Each process gets a folder, a database or a server of its own, all of them empty. */
export interface Place {
  readonly folder: string
  readonly databaseUrl?: string
  readonly restate?: RestateAddress
}

/** What the module of an adapter exports as `open`. */
export type OpenPeer = (place: Place) => Promise<Peer>

/** Sends events from another process than the one that executes. */
export interface Sender {
  sendEvent: Peer["sendEvent"]
  close(): Promise<void>
}

/** What the module of an adapter exports as `openSender`, if it can: on what another process has opened at this place. */
export type OpenSender = (place: Place) => Promise<Sender>

export type Setting = string | number | boolean

/** What is known of an engine without loading it. Stands beside its adapter, as `<id>-peer.ts`. */
export interface PeerDescription {
  /** As in `--only`; the adapter is `adapters/<id>.ts`. */
  readonly id: string
  readonly name: string
  /** Whose versions are reported; the first is the engine's. None: Perdure itself. */
  readonly packages: readonly string[]
  readonly needs?: "postgres" | "restate"
  /** Named as the engine names them, where they are options of the engine. */
  readonly settings: Readonly<Record<string, Setting>>
  /** What a reader must know to judge the settings. */
  readonly remarks?: readonly string[]
  /** Workloads that the engine has no means for, with the reason. */
  readonly cannot?: Readonly<Record<string, string>>
  /** Why it cannot be measured here and now, and what to do about it. None: nothing is in its way. */
  readonly hindrance?: () => string | undefined
}

/** Of a sleeper or listener: how long it sleeps. */
export const sleepMs = 1_000
