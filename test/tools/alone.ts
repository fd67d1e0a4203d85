/** Runs one command with the tool, prints its result, and is then over: a test looks whether the process ends by itself. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Bash from "../../src/tools/Bash.ts"
import { execute, services, textOf } from "./support.ts"

const command = process.argv[2] ?? ""
const program = Effect.flatMap(execute(Bash.tool, { command }), (result) => Console.log(textOf(result)))

NodeRuntime.runMain(Effect.provide(program, services))
