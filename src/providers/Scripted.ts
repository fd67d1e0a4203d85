/**
 * A provider that plays turns given as data: the n-th request is answered by the n-th turn, always in the same way, on the
 * virtual clock where there is one. For tests of agents, for benchmarks, and for demonstrations (`--script FILE`).
 *
 * The requests that were made, and how many streams were opened and closed, can be read while it plays.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Provider, type ProviderRequest } from "../services/Provider.ts"
import { type Act, compile, fail, play } from "./scripted/playing.ts"
import { check, type Script } from "./scripted/script.ts"

export {
  Cut,
  Die,
  Fail,
  InvalidScript,
  parse,
  Script,
  Stall,
  Step,
  Text,
  Thinking,
  ToolCall,
  Turn,
  Wait
} from "./scripted/script.ts"

export interface Options {
  /**
   * The greatest number of events in one array; 1 unless given. A run is aborted between arrays: the events of one that has
   * come are all told.
   */
  readonly arrays?: number | undefined
}

/** The provider that plays a script, and what it saw so far. */
export class Scripted extends Context.Service<
  Scripted,
  Provider["Service"] & {
    /** The requests so far, in order. A request is made when its stream is first pulled. */
    readonly requests: ReadonlyArray<ProviderRequest>
    /** How many streams were opened, and how many of them their consumers have closed. */
    readonly streams: { readonly opened: number; readonly closed: number }
  }
>()("effect-agent/providers/Scripted") {}

/** Dies with an `InvalidScript` where the types were not looked at, and the script is none. */
export const make = (script: Script, options?: Options): Effect.Effect<Scripted["Service"]> =>
  Effect.map(Effect.orDie(check(script)), ({ turns: written }) => {
    const turns = written.map((turn) => compile(turn, Math.max(1, options?.arrays ?? 1)))
    const requests: Array<ProviderRequest> = []
    const streams = { opened: 0, closed: 0 }
    const open = (request: ProviderRequest) =>
      Effect.sync(() => {
        streams.opened += 1
        requests.push(request)
        return turns[requests.length - 1] ?? [noTurnLeft(requests.length, turns.length)]
      })
    const close = Effect.sync(() => {
      streams.closed += 1
    })
    return {
      requests,
      streams,
      stream: (request) =>
        Stream.unwrap(
          Effect.map(
            Effect.acquireRelease(open(request), () => close),
            play
          )
        )
    }
  })

/** Each build of the layer plays the script from its beginning. */
export const layer = (script: Script, options?: Options): Layer.Layer<Provider | Scripted> =>
  Layer.effectContext(
    Effect.map(make(script, options), (scripted) =>
      Context.make(Scripted, scripted).pipe(Context.add(Provider, scripted))
    )
  )

const noTurnLeft = (request: number, turns: number): Act =>
  fail({
    type: "error",
    reason: "invalidRequest",
    message: `The script has no turn left: it has ${turns}, and this is request ${request}.`
  })
