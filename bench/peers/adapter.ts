// The operations of an engine that the workloads use. All engines have them.

/** `sequence` and `fan` run `input` steps, one after another or at once. `listener` waits for one event, `sleeper` sleeps; their input is the number with which they ring. */
export type WorkflowKind = "sequence" | "fan" | "listener" | "sleeper"

export interface Peer {
  /** Starts an instance durably, unless the engine starts and awaits in one call. */
  start(kind: WorkflowKind, input: number): Promise<Started>
  /** Sends an event to the listener with this number. Resolves when the engine has accepted the event. */
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

/** The resources of an engine. Each process gets an empty folder, database or server of its own. */
export interface Place {
  readonly folder: string
  readonly databaseUrl?: string
  readonly restate?: RestateAddress
}

/** The export `open` of the module of an adapter. */
export type OpenPeer = (place: Place) => Promise<Peer>

/** Sends events from another process than the one that executes. */
export interface Sender {
  sendEvent: Peer["sendEvent"]
  close(): Promise<void>
}

/** The optional export `openSender` of the module of an adapter. It uses the place that another process has opened. */
export type OpenSender = (place: Place) => Promise<Sender>

export type Setting = string | number | boolean

/** Facts about an engine that are known without loading it. They lie beside its adapter, in `<id>-peer.ts`. */
export interface PeerDescription {
  /** The id for `--only`. The adapter is `adapters/<id>.ts`. */
  readonly id: string
  readonly name: string
  /** Packages whose versions are reported, the package of the engine first. Empty for Perdure itself. */
  readonly packages: readonly string[]
  readonly needs?: "postgres" | "restate"
  /** The settings of the engine. Options of the engine have the names that the engine gives them. */
  readonly settings: Readonly<Record<string, Setting>>
  /** What a reader must know to judge the settings. */
  readonly remarks?: readonly string[]
  /** Workloads that the engine cannot run, with the reason. */
  readonly cannot?: Readonly<Record<string, string>>
  /** Returns why the engine cannot be measured on this machine, with advice; undefined if it can. */
  readonly hindrance?: () => string | undefined
}

/** How long a sleeper or a listener sleeps. */
export const sleepMs = 1_000
