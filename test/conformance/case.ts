// What belongs to one agent case while it is played: the agent, and what is recorded of it.
import type * as Scope from "effect/Scope"
import type * as Agent from "../../src/Agent.ts"
import type * as Tool from "../../src/Tool.ts"
import type { Observer } from "./observer.ts"

export type Members = Record<string, unknown>

export interface Case {
  readonly agent: Agent.Agent["Service"]
  readonly observer: Observer
  readonly scope: Scope.Closeable
  readonly named: (names: ReadonlyArray<string>) => ReadonlyArray<Tool.Any<never>>
  readonly recordOf: (state: Agent.Snapshot) => Members
  readonly states: Array<Members>
  readonly outcomes: Array<Members>
  readonly snapshots: Array<Members>
  readonly listeners: Array<Members>
  readonly subscriptions: Map<string, Scope.Closeable>
}
