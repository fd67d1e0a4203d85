// The program of `npm run conformance`.
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import { runFiles } from "./command.ts"

process.exitCode = await runFiles(process.argv.slice(2)).pipe(Effect.provide(NodeFileSystem.layer), Effect.runPromise)
