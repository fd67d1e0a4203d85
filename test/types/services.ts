// Services that the promises of this folder are about.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Hooks from "../../src/services/Hooks.ts"
import * as Tool from "../../src/Tool.ts"

export class Files extends Context.Service<Files, string>()("types/Files") {}
export class Net extends Context.Service<Net, string>()("types/Net") {}
export class Clockwork extends Context.Service<Clockwork, string>()("types/Clockwork") {}

const parameters = Schema.Struct({ path: Schema.String })

export const read = Tool.make({
  name: "read",
  description: "",
  parameters,
  execute: ({ path }) => Files.use((files) => Effect.succeed(files + path))
})

export const fetch = Tool.make({
  name: "fetch",
  description: "",
  parameters,
  execute: () => Effect.succeed(""),
  exclusive: () => Net.use((net) => Effect.succeed(net))
})

export const pure = Tool.make({ name: "pure", description: "", parameters, execute: () => Effect.succeed("") })

export const auditing: Hooks.Hooks<Clockwork> = { prepareNextTurn: () => Clockwork.use(() => Effect.void) }

export const model = { id: "m", provider: "p" }

/** Whether two types are the same. */
export type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only for a type that is `true`. */
export const holds = <T extends true>(): T | undefined => undefined

/** Compiles only for a value of the type. (A constant that nobody reads is an error of its own, which would hide that.) */
export const is = <T>(_value: T): void => {}
