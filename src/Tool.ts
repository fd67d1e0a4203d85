/**
 * What a tool is: a name and a description for the model, a Schema for its parameters, and what it does.
 *
 * A tool can fail in one way, with a `ToolFailure`, whose message the model reads. Whatever else happens in it (a defect,
 * an interruption) becomes an error result as well: no tool ends a run.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Inspectable from "effect/Inspectable"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaRepresentation from "effect/SchemaRepresentation"
import type { ToolResult } from "./AgentEvent.ts"

export { ToolResult } from "./AgentEvent.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------------

/** The one way for a tool to fail. The model reads `message`: say what was wrong and what to do. */
export class ToolFailure extends Schema.TaggedError<ToolFailure>()("ToolFailure", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** The call that a tool is executing. */
export interface Call {
  /** The call's id, unique in the transcript. */
  readonly id: string
  /**
   * Reports the result so far. Waits while the run's consumer is behind. A report after the tool has settled is ignored;
   * all before are told before the call's end.
   */
  readonly update: (partial: string | ToolResult) => Effect.Effect<void>
}

/** What a model is told of a tool. `parameters` is a JSON Schema (draft 2020-12). */
export interface Declaration {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema.JsonSchema
}

/** What the author of a tool says of it, beside its parameters. */
export interface Options<P, R> {
  readonly name: string
  readonly description: string
  /** Does the work. A text is a result of one text block. */
  readonly execute: (params: P, call: Call) => Effect.Effect<string | ToolResult, ToolFailure, R>
  /**
   * Mends the arguments as the model sent them, before they are decoded (an old name of a field, say). It gets a copy.
   * If it throws, the call is refused.
   */
  readonly prepareArguments?: ((args: Schema.Json) => unknown) | undefined
  /**
   * Names a resource that only one call may use at a time. Calls of a batch that name the same one are executed one
   * after the other, in source order. It runs while the batch is prepared, after the hook `beforeToolCall`.
   */
  readonly exclusive?: ((params: P) => Effect.Effect<string, never, R>) | undefined
  /** Makes a whole batch sequential in which this tool is called. */
  readonly sequential?: boolean | undefined
}

/** A tool, with `P` the parameters that it executes with and `R` the services that it needs. */
export interface Tool<P, out R = never> extends Options<P, R>, Declaration {
  /** Decodes arguments. */
  readonly schema: Schema.Decoder<P>
  /** Whether `schema` must be told to refuse the fields that it does not know; an imported JSON Schema names all it allows. */
  readonly onExcessProperty: "ignore" | "error"
}

/** Any tool; `R` is what it needs. */
// oxlint-disable-next-line typescript/no-explicit-any -- the parameters of a tool are contravariant: only `any` admits them all
export type Any<R = any> = Tool<any, R>

/** The services that some tools need. */
export type Services<Tools extends ReadonlyArray<Any>> = Tools[number] extends infer T
  ? T extends Any<infer R>
    ? R
    : never
  : never

// ---------------------------------------------------------------------------------------------------------------------
// Constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A tool whose parameters are an Effect Schema. Use a plain `Schema.Struct` with `Schema.optionalKey`, `Schema.Int` and
 * `Schema.Finite`; `.annotate({ description })` tells the model what a field is for.
 */
export const make = <P, E, R = never>(
  options: Options<P, R> & { readonly parameters: Schema.Codec<P, E> }
): Tool<P, R> => {
  const document = Schema.toJsonSchemaDocument(options.parameters)
  return {
    ...options,
    parameters:
      Object.keys(document.definitions).length === 0
        ? document.schema
        : { ...document.schema, $defs: document.definitions },
    schema: Schema.toCodecJson(options.parameters),
    onExcessProperty: "ignore"
  }
}

/**
 * A tool whose parameters are a JSON Schema (draft 2020-12), known only at run time. Arguments are checked against it.
 * Throws where the schema uses a keyword that cannot be checked (see `SchemaRepresentation.fromJsonSchemaDocument`).
 */
export const dynamic = <R = never>(
  options: Options<Schema.Json, R> & { readonly parameters: JsonSchema.JsonSchema }
): Tool<Schema.Json, R> => {
  const { $defs, ...schema } = options.parameters
  return {
    ...options,
    schema: SchemaRepresentation.fromJsonSchemaDocument({
      dialect: "draft-2020-12",
      schema,
      definitions: ($defs ?? {}) as JsonSchema.Definitions
    }) as Schema.Schema<unknown> as Schema.Codec<Schema.Json>,
    onExcessProperty: "error"
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Combinators
// ---------------------------------------------------------------------------------------------------------------------

/** The same tool with its needs met. */
export const provide = <P, R>(self: Tool<P, R>, context: Context.Context<R>): Tool<P> => ({
  ...self,
  execute: (params, call) => Effect.provideContext(self.execute(params, call), context),
  exclusive:
    self.exclusive &&
    (
      (exclusive) => (params: P) =>
        Effect.provideContext(exclusive(params), context)
    )(self.exclusive)
})

// ---------------------------------------------------------------------------------------------------------------------
// Results
// ---------------------------------------------------------------------------------------------------------------------

/** A result of one text block. */
export const text = (text: string): ToolResult => ({ content: [{ type: "text", text }] })

/** The result that says what went wrong: one text block and empty details. */
export const errorResult = (text: string): ToolResult => ({ content: [{ type: "text", text }], details: {} })

/** How the execution of a call ended. */
export interface Outcome {
  readonly _tag: "Done" | "Failed" | "Interrupted"
  readonly result: ToolResult
}

/** The one place that tells a tool's interruption, failure and defect apart, and encodes each as a result. */
export const encodeExit = (exit: Exit.Exit<string | ToolResult, ToolFailure>): Outcome => {
  if (Exit.isSuccess(exit)) return encodeValue(exit.value)
  if (Cause.hasInterrupts(exit.cause)) return { _tag: "Interrupted", result: errorResult("The tool was interrupted.") }
  return { _tag: "Failed", result: errorResult(describeDefect(Cause.squash(exit.cause))) }
}

const encodeValue = (value: string | ToolResult): Outcome =>
  typeof value === "string" || Predicate.isObject(value)
    ? { _tag: "Done", result: resultOf(value) }
    : { _tag: "Failed", result: errorResult("The tool gave no result.") }

/** What a tool gives, as a result: a text is one text block. */
export const resultOf = (value: string | ToolResult): ToolResult => (typeof value === "string" ? text(value) : value)

/** What a failure or defect says, in one text: its message where it has one. */
export const describeDefect = (defect: unknown): string => {
  if (typeof defect === "string") return defect
  if (Predicate.hasProperty(defect, "message") && typeof defect.message === "string" && defect.message !== "") {
    return defect.message
  }
  return Inspectable.toStringUnknown(defect)
}
