#!/usr/bin/env node
/**
 * The command `effect-agent`: the program, on the services of Node.
 */
import * as Effect from "effect/Effect"
import * as Stdio from "effect/Stdio"
import { layer, runMain } from "./process.ts"
import { program, tell } from "./program.ts"

const main = Effect.flatMap(
  Stdio.Stdio.use(({ args }) => args),
  program
)

runMain(Effect.provide(main, layer), (cause) => Effect.provide(tell(cause), layer))
