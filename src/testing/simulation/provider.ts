/**
 * The provider of a world: it plays the turns as scripts, and its connections can be deaf and slow to close.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Scripted from "../../providers/Scripted.ts"
import { type Provider, ProviderError, type ProviderEvent } from "../../services/Provider.ts"
import type * as World from "../World.ts"
import type { Ongoing } from "./journal.ts"
import { finalize, lapse, type Stage } from "./steps.ts"

type Step = World.Turn[number]

export const makeProvider = (stage: Stage, world: World.World): Effect.Effect<Provider["Service"]> =>
  Effect.map(
    Scripted.make({ turns: world.turns.map(scriptOf) }, { arrays: world.arrays ?? Infinity }),
    (scripted): Provider["Service"] => {
      let requests = 0
      return {
        stream: (request) =>
          Stream.unwrap(
            Effect.suspend(() => {
              const turn = world.turns[requests++] ?? []
              stage.journal.request(request)
              return Effect.map(open(stage, turn), (activity) =>
                watchPulls(stage, activity, turn, scripted.stream(request))
              )
            })
          )
      }
    }
  )

const scriptOf = (turn: World.Turn): Scripted.Turn =>
  turn.flatMap((step): ReadonlyArray<Scripted.Step> => {
    if (step.type === "finalizer") return []
    return [step.type === "deaf" ? { type: "wait", ms: step.ms ?? 0 } : step]
  })

/** The connection: an activity until it is closed, which takes as long as the finalizers of the turn say. */
const open = (stage: Stage, turn: World.Turn) =>
  Effect.acquireRelease(
    Effect.sync(() => stage.journal.begin({ kind: "stream", name: "response" })),
    (activity) =>
      Effect.onExit(
        Effect.forEach(turn.filter(isFinalizer), (step) => finalize(stage, activity, step), { discard: true }),
        () => Effect.sync(() => stage.journal.settle(activity, "done"))
      )
  )

const isFinalizer = (step: Step) => step.type === "finalizer"

const watchPulls = (
  stage: Stage,
  parent: Ongoing,
  turn: World.Turn,
  stream: Stream.Stream<ProviderEvent, ProviderError>
): Stream.Stream<ProviderEvent, ProviderError> => {
  let current = parent
  const watched = Stream.transformPull(stream, (pull) =>
    Effect.succeed(
      stage.journal.track({ kind: "pull", name: "response", parent }, (activity) => {
        current = activity
        return stage.journal.orFail(activity, pull, breaks)
      })
    )
  )
  return Stream.provideService(
    watched,
    Clock.Clock,
    pausesOf(stage, turn, () => current)
  )
}

const breaks = (message: string) => new ProviderError({ reason: "network", message, retryable: true })

/** A script sleeps once for each of its pauses, in order: the clock knows which of them are deaf. */
const pausesOf = (stage: Stage, turn: World.Turn, pull: () => Ongoing): Clock.Clock => {
  const pauses = turn.filter((step) => step.type === "wait" || step.type === "deaf")
  let next = 0
  return stage.machine.clock((ms) =>
    Effect.suspend(() => {
      const step = pauses[next++]
      const slept = Effect.provideService(lapse(step?.type === "deaf" ? step.ms : ms), Clock.Clock, stage.clock)
      return step?.type === "deaf" ? stage.journal.shield(pull(), slept) : slept
    })
  )
}
