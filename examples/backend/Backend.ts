/**
 * The backend as a layer, over whatever serves HTTP, asks models, runs tools and stores transcripts.
 *
 * When it is closed, conversations end before the server does: their runs are aborted and tell their end to who reads
 * them, their watchers end, and then there is no response left that the server would have to wait for.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HttpRouter from "effect/http/HttpRouter"
import { Conversations, type Options } from "./Conversations.ts"
import { routes } from "./routes.ts"

const closeFirst = Layer.effectDiscard(
  Effect.gen(function* () {
    const { close } = yield* Conversations
    yield* Effect.addFinalizer(() => close)
  })
)

export const layer = (options: Options) =>
  closeFirst.pipe(
    Layer.provideMerge(HttpRouter.serve(routes, { disableLogger: true })),
    Layer.provide(Conversations.layer(options))
  )
