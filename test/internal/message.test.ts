// The fold of a provider's events into one message, alone: random streams, sensible or not, never break it, and no snapshot
// changes after it was taken.
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { MessageFold } from "../../src/internal/message.ts"
import { finishCall, readTolerant } from "../../src/internal/preview.ts"
import { AssistantMessage } from "../../src/Message.ts"
import { ProviderEvent } from "../../src/services/Provider.ts"
import { model, tokensIn } from "../support/make.ts"

const fold = (events: ReadonlyArray<ProviderEvent>, uniqueId = (id: string) => id) => {
  const message = new MessageFold(model, 7, uniqueId)
  const changes = events.map((event) => message.fold(event))
  return { message, changes }
}

const start = { type: "start" } as const

describe("a fold", () => {
  it("begins with an empty message of its model, with stop reason stop and no usage", () => {
    expect(fold([]).message.snapshot).toEqual({
      role: "assistant",
      content: [],
      provider: "acme",
      model: "m1",
      usage: tokensIn(0),
      stopReason: "stop",
      timestamp: 7
    })
  })

  it("is of the model that start names, and so are the blocks that only it can read", () => {
    const answering = { provider: "other", id: "m2" }
    const { message } = fold([
      { type: "start", model: answering },
      { type: "other", contentIndex: 0, data: { type: "x" } }
    ])
    answering.id = "changed later"
    expect(message.snapshot).toMatchObject({ provider: "other", model: "m2", content: [{ provider: "other" }] })
    expect(message.finish({ stopReason: "stop" })).toMatchObject({ provider: "other", model: "m2" })
  })

  it("is started by start and over after done or a fault", () => {
    expect(fold([]).message).toMatchObject({ isStarted: false, isOver: false })
    expect(fold([start]).message).toMatchObject({ isStarted: true, isOver: false })
    expect(fold([start, { type: "done", reason: "stop" }]).message.isOver).toBe(true)
    expect(fold([start, start]).message.isOver).toBe(true)
  })

  it("tells of each change by a copy of the provider's event, and nothing of start and done", () => {
    const events: ReadonlyArray<ProviderEvent> = [
      start,
      { type: "text_start", contentIndex: 0 },
      { type: "text_delta", contentIndex: 0, delta: "x" },
      { type: "done", reason: "stop" }
    ]
    const { changes } = fold(events)
    expect(changes).toEqual([undefined, events[1], events[2], undefined])
    expect(changes[1]).not.toBe(events[1])
    expect(changes[2]).not.toBe(events[2])
  })

  it("asks for the id of each call once, at its start", () => {
    const asked: Array<string> = []
    const { message, changes } = fold(
      [
        { type: "toolcall_start", contentIndex: 0, id: "a", name: "t" },
        { type: "toolcall_delta", contentIndex: 0, delta: "{}" },
        { type: "toolcall_end", contentIndex: 0 }
      ],
      (id) => (asked.push(id), `${id}!`)
    )
    expect(asked).toEqual(["a"])
    expect(changes[0]).toMatchObject({ id: "a!" })
    expect(message.snapshot.content).toMatchObject([{ id: "a!" }])
  })

  it("says in a fault what made no sense", () => {
    expect(fold([{ type: "text_start", contentIndex: 2 }]).message.fault).toContain(
      "block 2 began where block 0 was due"
    )
    expect(fold([{ type: "thinking_end", contentIndex: 0 }]).message.fault).toContain("thinking_end came for block 0")
  })

  it("finishes with what it is told of the end, and leaves out what it is not told", () => {
    const { message } = fold([start])
    expect(Object.keys(message.finish({ stopReason: "stop" }))).toEqual(Object.keys(message.snapshot))
    const error = { reason: "network", retryable: true }
    expect(
      message.finish({
        stopReason: "error",
        errorMessage: "off",
        error,
        usage: tokensIn(3),
        stopDetail: { type: "refusal" }
      })
    ).toMatchObject({
      stopReason: "error",
      errorMessage: "off",
      error,
      usage: tokensIn(3),
      stopDetail: { type: "refusal" }
    })
  })

  it("finishes calls that are open with their strict reading", () => {
    const { message } = fold([
      { type: "toolcall_start", contentIndex: 0, id: "a", name: "t" },
      { type: "toolcall_delta", contentIndex: 0, delta: '{"x":' }
    ])
    expect(message.snapshot.content).toEqual([{ type: "toolCall", id: "a", name: "t", arguments: {} }])
    expect(message.finish({ stopReason: "aborted" }).content).toEqual([finishCall("a", "t", '{"x":')])
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// Properties
// ---------------------------------------------------------------------------------------------------------------------

const index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 }))

/** Events of which most make sense in some order: few blocks, many deltas. */
const Event = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["text_start", "text_end"]), contentIndex: index }),
  Schema.Struct({ type: Schema.Literals(["thinking_start", "thinking_end"]), contentIndex: index }),
  Schema.Struct({ type: Schema.Literals(["text_delta", "thinking_delta"]), contentIndex: index, delta: Schema.String }),
  Schema.Struct({
    type: Schema.tag("toolcall_delta"),
    contentIndex: index,
    delta: Schema.Literals(['{"a":', '"b', '"', "[1,2", "]}", " ", "x"])
  }),
  Schema.Struct({
    type: Schema.tag("toolcall_start"),
    contentIndex: index,
    id: Schema.Literals(["a", "b"]),
    name: Schema.Literal("t")
  }),
  Schema.Struct({ type: Schema.tag("toolcall_end"), contentIndex: index })
])

const isMessage = Schema.is(AssistantMessage)

it.prop("of any events is a message, and each snapshot stays as it was", [Schema.Array(Event)], ([events]) => {
  const message = new MessageFold(model, 0, (id) => id)
  const snapshots: Array<readonly [unknown, string]> = []
  for (const event of events) {
    message.fold(event as ProviderEvent)
    const snapshot = message.snapshot
    expect(isMessage(snapshot)).toBe(true)
    snapshots.push([snapshot, JSON.stringify(snapshot)])
    if (message.isOver) break
  }
  expect(isMessage(message.finish({ stopReason: "stop" }))).toBe(true)
  for (const [snapshot, before] of snapshots) expect(JSON.stringify(snapshot)).toBe(before)
})

/** A block, and how its text is cut. */
const Block = Schema.Struct({
  kind: Schema.Literals(["text", "thinking", "toolCall"]),
  deltas: Schema.Array(Schema.String),
  isEnded: Schema.Boolean
})

it.prop(
  "of blocks that interleave in any way has what was streamed of each",
  [Schema.Array(Block).check(Schema.isMaxLength(4)), Schema.Array(Schema.Int)],
  ([blocks, picks]) => {
    const prefix = { text: "text", thinking: "thinking", toolCall: "toolcall" } as const
    const queues = blocks.map(({ kind, deltas, isEnded }, contentIndex) => [
      ...deltas.map((delta) => ({ type: `${prefix[kind]}_delta`, contentIndex, delta }) as ProviderEvent),
      ...(isEnded ? [{ type: `${prefix[kind]}_end`, contentIndex } as ProviderEvent] : [])
    ])
    const message = new MessageFold(model, 0, (id) => id)
    for (const [contentIndex, { kind }] of blocks.entries()) {
      message.fold({ type: `${prefix[kind]}_start`, contentIndex, id: `${contentIndex}`, name: "t" } as ProviderEvent)
    }
    for (let pick = 0; queues.some((queue) => queue.length > 0); pick++) {
      const waiting = queues.filter((queue) => queue.length > 0)
      message.fold(waiting[Math.abs(picks[pick] ?? 0) % waiting.length]!.shift()!)
    }
    const content = (isFinished: boolean) =>
      blocks.map(({ kind, deltas, isEnded }, id) => {
        const text = deltas.join("")
        if (kind === "text") return { type: "text", text }
        if (kind === "thinking") return { type: "thinking", thinking: text }
        return isFinished || isEnded
          ? finishCall(`${id}`, "t", text)
          : { type: "toolCall", id: `${id}`, name: "t", arguments: readTolerant(text) }
      })
    expect(message.fault).toBeUndefined()
    expect(message.snapshot.content).toEqual(content(false))
    expect(message.finish({ stopReason: "stop" }).content).toEqual(content(true))
  }
)

it("a provider's event has the form that the loop folds", () => {
  expect(Schema.is(ProviderEvent)({ type: "done", reason: "aborted" })).toBe(false)
  expect(Schema.is(ProviderEvent)({ type: "text_delta", contentIndex: 0, delta: "x" })).toBe(true)
})
