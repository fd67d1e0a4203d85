/**
 * The folder that tools work in: relative paths are against it, and commands run in it. By default it is the current
 * folder of the process.
 */
import * as Context from "effect/Context"

export class WorkingDirectory extends Context.Reference<string>("effect-agent/tools/WorkingDirectory", {
  defaultValue: () => "."
}) {}
