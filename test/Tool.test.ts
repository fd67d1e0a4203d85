// Tools: what the model is told of their parameters, and how an execution is encoded as a result.
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Tool from "../src/Tool.ts"

const execute = () => Effect.succeed("")
const call: Tool.Call = { id: "a", update: () => Effect.void }

describe("make", () => {
  it("declares the parameters as a JSON Schema, descriptions and all", () => {
    const { parameters } = Tool.make({
      name: "read",
      description: "Reads.",
      parameters: Schema.Struct({
        path: Schema.String.annotate({ description: "Where." }),
        limit: Schema.optionalKey(Schema.Int)
      }),
      execute
    })
    expect(parameters).toMatchObject({
      type: "object",
      properties: { path: { type: "string", description: "Where." }, limit: { type: "integer" } },
      required: ["path"]
    })
    expect(parameters).not.toHaveProperty("$defs")
  })

  it("carries definitions that the parameters refer to", () => {
    interface Tree {
      readonly children: ReadonlyArray<Tree>
    }
    const Tree = Schema.Struct({
      children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
    }).annotate({ identifier: "Tree" })
    const { parameters } = Tool.make({
      name: "plant",
      description: "",
      parameters: Schema.Struct({ tree: Tree }),
      execute
    })
    const definitions = parameters["$defs"] as Record<string, unknown>
    const [name] = Object.keys(definitions)
    expect(parameters["properties"]).toEqual({ tree: { $ref: `#/$defs/${name}` } })
  })

  it("declares what is sent, where the schema makes something else of it", () => {
    const { parameters } = Tool.make({
      name: "at",
      description: "",
      parameters: Schema.Struct({ n: Schema.FiniteFromString }),
      execute
    })
    expect(parameters["properties"]).toMatchObject({ n: { type: "string" } })
  })
})

describe("dynamic", () => {
  const parametersOf = (parameters: Parameters<typeof Tool.dynamic>[0]["parameters"]) =>
    Tool.dynamic({
      name: "d",
      description: "",
      parameters,
      execute: (params) => Effect.succeed(JSON.stringify(params))
    })

  it("declares the given JSON Schema as it is", () => {
    const schema = { type: "object", properties: { n: { $ref: "#/$defs/N" } }, $defs: { N: { type: "integer" } } }
    expect(parametersOf(schema).parameters).toBe(schema)
  })

  it("checks against it, definitions included", () => {
    const { schema } = parametersOf({
      type: "object",
      properties: { n: { $ref: "#/$defs/N" } },
      required: ["n"],
      $defs: { N: { type: "integer" } }
    })
    expect(Schema.decodeSync(schema)({ n: 1 })).toEqual({ n: 1 })
    expect(() => Schema.decodeSync(schema)({ n: 1.5 })).toThrow("integer")
    expect(() => Schema.decodeSync(schema)({})).toThrow("Missing key")
  })

  it("refuses a schema that cannot be checked when the tool is made, not when it is called", () => {
    expect(() => parametersOf({ type: "object", properties: { n: { $ref: "#/$defs/Nowhere" } } })).toThrow("Nowhere")
  })
})

describe("provide", () => {
  class Name extends Context.Service<Name, string>()("test/Name") {}

  it.effect("meets the needs of a tool and keeps the rest of it", () =>
    Effect.gen(function* () {
      const needing = Tool.make({
        name: "n",
        description: "d",
        parameters: Schema.Struct({}),
        execute: () => Name.use((name) => Effect.succeed(name)),
        sequential: true
      })
      const provided = Tool.provide(needing, Context.make(Name, "x"))
      expect(yield* provided.execute({}, call)).toBe("x")
      expect(provided).toMatchObject({ name: "n", description: "d", sequential: true })
      expect(provided.exclusive).toBeUndefined()
    })
  )
})

describe("encodeExit", () => {
  const failed = (text: string) => ({ _tag: "Failed", result: Tool.errorResult(text) })

  it("a success is its result; a text is one text block", () => {
    expect(Tool.encodeExit(Exit.succeed("x"))).toEqual({ _tag: "Done", result: Tool.text("x") })
    expect(Tool.encodeExit(Exit.succeed({ details: 1 }))).toEqual({ _tag: "Done", result: { details: 1 } })
  })

  it("nothing, and what is no result, is a failure", () => {
    for (const value of [undefined, null, 1, false, []]) {
      expect(Tool.encodeExit(Exit.succeed(value as never))).toEqual(failed("The tool gave no result."))
    }
  })

  it("a failure says its message, a defect what it can", () => {
    expect(Tool.encodeExit(Exit.fail(new Tool.ToolFailure({ message: "no" })))).toEqual(failed("no"))
    expect(Tool.encodeExit(Exit.die(new Error("bug")))).toEqual(failed("bug"))
    expect(Tool.encodeExit(Exit.die("text"))).toEqual(failed("text"))
  })

  it("an interruption comes before all else", () => {
    const interrupted = { _tag: "Interrupted" }
    expect(Tool.encodeExit(Exit.interrupt())).toMatchObject(interrupted)
    const both = Cause.combine(Cause.die("bug"), Cause.interrupt())
    expect(Tool.encodeExit(Exit.failCause(both))).toMatchObject(interrupted)
  })

  it("an error result is one text block and empty details", () => {
    expect(Tool.errorResult("no")).toEqual({ content: [{ type: "text", text: "no" }], details: {} })
  })
})

describe("describeDefect", () => {
  it.each([
    ["text", "text"],
    [new Error("said"), "said"],
    [{ message: "said" }, "said"]
  ])("%o is %s", (defect, text) => {
    expect(Tool.describeDefect(defect)).toBe(text)
  })

  it("always says something", () => {
    const cyclic: Record<string, unknown> = {}
    cyclic["self"] = cyclic
    for (const defect of [undefined, null, 0, {}, { message: 5 }, new Error(""), cyclic, Symbol("s"), 5n, () => 1]) {
      expect(Tool.describeDefect(defect)).toEqual(expect.stringMatching(/./))
    }
  })
})
