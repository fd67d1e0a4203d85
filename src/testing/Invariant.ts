/**
 * What is promised of every run, whatever the world does: each promise has a name and is a function of a recording.
 */
import type { Recording } from "./Recording.ts"
import * as agents from "./invariants/agents.ts"
import * as calls from "./invariants/calls.ts"
import * as leftovers from "./invariants/leftovers.ts"
import * as order from "./invariants/order.ts"
import * as time from "./invariants/time.ts"
import * as transcript from "./invariants/transcript.ts"
import type { Invariant } from "./invariants/views.ts"

export type { Invariant } from "./invariants/views.ts"
export * from "./invariants/agents.ts"
export * from "./invariants/calls.ts"
export * from "./invariants/leftovers.ts"
export * from "./invariants/order.ts"
export * from "./invariants/time.ts"
export * from "./invariants/transcript.ts"

const isInvariant = (value: unknown): value is Invariant => typeof value === "object" && value !== null

/** All of them. */
export const all: ReadonlyArray<Invariant> = [transcript, order, calls, time, leftovers, agents].flatMap((module) =>
  Object.values<unknown>(module).filter(isInvariant)
)

/** A promise that was not kept. */
export interface Broken {
  readonly invariant: string
  readonly what: string
}

/** The promises that a recording breaks, in any run of its agent; all are asked unless some are named. */
export const broken = (recording: Recording, invariants: ReadonlyArray<Invariant> = all): ReadonlyArray<Broken> =>
  invariants.flatMap(({ name, check }) => {
    const runs = [recording, ...(recording.session?.later ?? [])]
    const [what] = runs.flatMap((run) => check(run) ?? [])
    return what === undefined ? [] : [{ invariant: name, what }]
  })
