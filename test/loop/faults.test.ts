// Faults that are known and not yet mended: each test says what has to hold, and fails. Once the fault is mended its test
// fails here, by passing; then it moves to the file of its subject, without `.fails`.
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Fiber from "effect/Fiber"
import { decodeArguments } from "../../src/internal/arguments.ts"
import * as Tool from "../../src/Tool.ts"
import { call, say, tool } from "../support/make.ts"
import { play } from "../support/play.ts"

/** The same value, with a count of how often its members are read. */
const counted = <A extends object>(value: A, count: { reads: number }): A =>
  new Proxy(value, {
    get: (target, key) => {
      count.reads++
      const member = Reflect.get(target, key) as unknown
      return typeof member === "object" && member !== null ? counted(member, count) : member
    }
  })

it.fails("arguments of a recursive union cost more with each level, as a power of its branches", () => {
  interface Node {
    readonly kind: string
    readonly children: ReadonlyArray<Node>
  }
  const kind = (name: string) =>
    Schema.Struct({
      kind: Schema.Literal(name),
      children: Schema.Array(Schema.suspend((): Schema.Codec<Node> => Node))
    })
  const Node = Schema.Union([kind("a"), kind("b"), kind("c")]).annotate({ identifier: "Node" })
  const described = Tool.make({
    name: "t",
    description: "",
    parameters: Schema.Struct({ root: Node }),
    execute: () => Effect.succeed("")
  })
  const costAt = (depth: number): number => {
    const count = { reads: 0 }
    let root: Node = { kind: "a", children: [] }
    for (let level = 0; level < depth; level++) root = { kind: "b", children: [root] }
    Effect.runSync(decodeArguments({ ...described, parameters: counted(described.parameters, count) }, { root }))
    return count.reads
  }
  expect(costAt(6) / costAt(3)).toBeLessThan(4)
})

it.effect.fails("afterToolCall is not asked after a call whose fiber others have interrupted", () =>
  Effect.gen(function* () {
    let running: Fiber.Fiber<unknown, unknown> | undefined
    const cancelled = tool("a", () =>
      Effect.withFiber((fiber) => {
        running = fiber
        return Effect.never
      })
    )
    yield* Effect.forkChild(
      Effect.delay(
        Effect.sync(() => running?.interruptUnsafe()),
        10
      )
    )
    let asked = 0
    const trace = yield* play([[call("a")], [say("ok")]], {
      tools: [cancelled],
      hooks: { afterToolCall: () => Effect.sync(() => void asked++) }
    })
    expect([asked, trace.resultTexts]).toEqual([1, ["The tool was interrupted."]])
  })
)
