// The ways in which a run is ended from outside its conversation: the turn limit and the hook shouldStopAfterTurn.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { call, say, tool, user } from "../support/make.ts"
import { type Options, play } from "../support/play.ts"

/** Counts the polls of both queues and the calls of the hook. */
const counted = (stops: ReadonlyArray<boolean> = []) => {
  const counts = { steering: 0, followUp: 0, stop: 0, prepare: 0 }
  const options = {
    steering: Effect.sync(() => (counts.steering++, [])),
    followUp: Effect.sync(() => (counts.followUp++, [])),
    hooks: {
      prepareNextTurn: () =>
        Effect.sync(() => {
          counts.prepare++
        }),
      shouldStopAfterTurn: () => Effect.sync(() => stops[counts.stop++] ?? false)
    }
  } satisfies Options
  return { counts, options }
}

const tools = [tool("a"), tool("end", () => Effect.succeed({ terminate: true }))]
const asking = [[call("a", {}, "1")], [call("a", {}, "2")], [call("a", {}, "3")]]

describe("the turn limit", () => {
  for (const maxTurns of [1, 2]) {
    it.effect(`after ${maxTurns} turns a batch that wants to go on ends the run with the reason limit`, () =>
      Effect.gen(function* () {
        const { counts, options } = counted()
        const trace = yield* play(asking, { ...options, tools, maxTurns })
        expect(trace.reason).toBe("limit")
        expect(trace.requests).toHaveLength(maxTurns)
        expect(trace.results).toHaveLength(maxTurns)
        // The hooks run after the last turn too; the queues are not polled after it.
        expect(counts).toEqual({ steering: maxTurns, followUp: 0, stop: maxTurns, prepare: maxTurns })
      })
    )
  }

  it.effect("a run that would end there anyway has its own reason, and no queue is polled", () =>
    Effect.gen(function* () {
      const { counts, options } = counted()
      expect((yield* play([[say("ok")]], { ...options, tools, maxTurns: 1 })).reason).toBe("completed")
      expect((yield* play([[call("end")]], { ...options, tools, maxTurns: 1 })).reason).toBe("terminated")
      expect(counts).toMatchObject({ steering: 2, followUp: 0 })
    })
  )

  it.effect("follow-up turns count", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("1")], [say("2")], [say("3")]], {
        maxTurns: 2,
        followUp: Effect.succeed([user("more")])
      })
      expect(trace.reason).toBe("completed")
      expect(trace.requests).toHaveLength(2)
    })
  )

  it.effect("without a limit a run takes as many turns as it needs", () =>
    Effect.gen(function* () {
      const turns = Array.from({ length: 50 }, (_, index) => [call("a", {}, `c${index}`)])
      const trace = yield* play([...turns, [say("ok")]], { tools })
      expect(trace.reason).toBe("completed")
      expect(trace.requests).toHaveLength(51)
    })
  )
})

describe("shouldStopAfterTurn", () => {
  it.effect("true ends the run with the reason stopped, and no queue is polled", () =>
    Effect.gen(function* () {
      const { counts, options } = counted([false, true])
      const trace = yield* play(asking, { ...options, tools })
      expect(trace.reason).toBe("stopped")
      expect(trace.requests).toHaveLength(2)
      expect(counts).toEqual({ steering: 2, followUp: 0, stop: 2, prepare: 2 })
    })
  )

  it.effect("comes before the limit", () =>
    Effect.gen(function* () {
      const { options } = counted([true])
      expect((yield* play(asking, { ...options, tools, maxTurns: 1 })).reason).toBe("stopped")
    })
  )

  it.effect("is asked after a turn without calls too", () =>
    Effect.gen(function* () {
      const { counts, options } = counted([true])
      const trace = yield* play([[say("ok")]], options)
      expect(trace.reason).toBe("stopped")
      expect(counts.followUp).toBe(0)
    })
  )
})
