/**
 * Runs an agent in a world, on a virtual clock, and records what happens until nothing can happen any more.
 *
 * The same world gives the same recording, to the order of fibers. No time passes outside: a run of minutes takes a
 * millisecond. Tools and hooks can be real ones, as long as they wait only for Effect's clock and for promises that are
 * settled without the world outside.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Tool from "../Tool.ts"
import type { Recording } from "./Recording.ts"
import { type Agent, Play } from "./simulation/play.ts"
import { checked, type World } from "./World.ts"

export type { Agent } from "./simulation/play.ts"

/**
 * Runs the world, and the agent in it: its tools come before those of the world, its hooks are asked before, and its retry
 * policy takes the place of that of the world.
 */
export const run = <const Tools extends ReadonlyArray<Tool.Any> = [], R = never>(
  world: World,
  agent?: Agent<Tools, R>
): Effect.Effect<Recording, never, Tool.Services<Tools> | R> =>
  Effect.contextWith((context: Context.Context<Tool.Services<Tools> | R>) =>
    Effect.flatMap(checked(world), () => {
      const play = new Play<Tool.Services<Tools> | R>(world, agent ?? {})
      play.start(context)
      return agent === undefined ? Effect.sync(() => playAlone(play)) : playWithOthers(play)
    })
  )

/** A world that is all data needs nothing but its machine. */
const playAlone = <R>(play: Play<R>): Recording => {
  while (play.settle() || play.advance());
  return play.recording
}

/** Real code may wait for promises: they are given the time to settle before the clock moves. */
const playWithOthers = Effect.fnUntraced(function* <R>(play: Play<R>) {
  do {
    do yield* promises
    while (play.settle())
  } while (play.advance())
  return play.recording
})

const promises = Effect.repeat(Effect.yieldNow, { times: 3 })
