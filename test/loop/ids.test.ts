// SPEC 9.6: two calls with the same id in one transcript. The later one is renamed, so that results pair up.
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { assistant, call, failing, pause, say, tool } from "../support/make.ts"
import { of, play } from "../support/play.ts"

const tools = [tool("t", (_, { id }) => Effect.succeed(`for ${id}`))]
const t = (id: string) => call("t", {}, id)

it.effect("calls of one response with the same id are numbered from 2", () =>
  Effect.gen(function* () {
    const trace = yield* play([[t("a"), t("a"), t("a")], [say("ok")]], { tools })
    expect(trace.resultTexts).toEqual(["for a", "for a_2", "for a_3"])
    expect(trace.results.map(({ toolCallId }) => toolCallId)).toEqual(["a", "a_2", "a_3"])
    expect(trace.responses[0]?.content.map((block) => (block.type === "toolCall" ? block.id : ""))).toEqual([
      "a",
      "a_2",
      "a_3"
    ])
  })
)

it.effect("the new id stands at the call's start, in the event and in the message so far", () =>
  Effect.gen(function* () {
    const trace = yield* play([[t("a"), t("a")], [say("ok")]], { tools })
    const starts = of(trace, "message_update").flatMap(({ assistantMessageEvent: event, message }) =>
      event.type === "toolcall_start" ? [[event.id, message.content.at(-1)]] : []
    )
    expect(starts).toMatchObject([
      ["a", { id: "a" }],
      ["a_2", { id: "a_2" }]
    ])
  })
)

it.effect("ids of earlier turns and of the given transcript are taken", () =>
  Effect.gen(function* () {
    const messages = [assistant([{ type: "toolCall", id: "old", name: "t", arguments: {} }])]
    const trace = yield* play([[t("old")], [t("old")], [t("old_2")], [say("ok")]], { tools, messages })
    expect(trace.results.map(({ toolCallId }) => toolCallId)).toEqual(["old_2", "old_3", "old_2_2"])
  })
)

it.effect("an id that looks renamed but is free stays", () =>
  Effect.gen(function* () {
    const trace = yield* play([[t("a_2"), t("a"), t("a")], [say("ok")]], { tools })
    expect(trace.results.map(({ toolCallId }) => toolCallId)).toEqual(["a_2", "a", "a_3"])
  })
)

it.effect("an attempt that is discarded takes no ids", () =>
  Effect.gen(function* () {
    const trace = yield* play([[t("a"), pause(1), failing("busy", true)], [t("a")], [say("ok")]], {
      tools,
      retry: Schedule.spaced(1)
    })
    expect(trace.results.map(({ toolCallId }) => toolCallId)).toEqual(["a"])
  })
)

it.effect("a failed response takes its ids: it stays in the transcript", () =>
  Effect.gen(function* () {
    const messages = [
      assistant([{ type: "toolCall", id: "a", name: "t", arguments: {} }], {
        stopReason: "error",
        errorMessage: "broke"
      })
    ]
    const trace = yield* play([[t("a")], [say("ok")]], { tools, messages })
    expect(trace.results.map(({ toolCallId }) => toolCallId)).toEqual(["a_2"])
  })
)

it.effect("ids of the run's own earlier calls stay taken when prepareNextTurn has replaced the transcript", () =>
  Effect.gen(function* () {
    const trace = yield* play([[t("a")], [t("a")], [t("old")], [say("ok")]], {
      tools,
      hooks: {
        prepareNextTurn: ({ context }) =>
          Effect.succeed({
            context: { ...context, messages: [assistant([{ type: "toolCall", id: "old", name: "t", arguments: {} }])] }
          })
      }
    })
    expect(trace.results.map(({ toolCallId }) => toolCallId)).toEqual(["a", "a_2", "old_2"])
  })
)
