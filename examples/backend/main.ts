/**
 * Starts the backend on port 3000, or on $PORT, with the model that needs no key and tools that only read:
 *
 *     npm run build && npx node examples/backend/main.ts
 *     curl -N localhost:3000/conversations/1/prompt --json '{ "text": "what scripts does package.json define?" }'
 *     curl -N localhost:3000/conversations/1/events
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Config from "effect/Config"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import * as Offline from "effect-agent/providers/Offline"
import * as Tools from "effect-agent/tools/Tools"
import * as Backend from "./Backend.ts"
import { Store } from "./Store.ts"

const tools = Tools.layerReadOnly().pipe(Layer.provide(NodeServices.layer))

const server = NodeHttpServer.layerConfig(createServer, {
  host: Config.succeed("127.0.0.1"),
  port: Config.withDefault(Config.Port("PORT"), 3000),
  // For clients that do not read what they are still to be told.
  gracefulShutdownTimeout: Config.succeed("10 seconds")
})

Backend.layer({
  agent: { model: Offline.model, systemPrompt: "You answer questions about the files of this folder." },
  idleTimeToLive: "5 minutes"
}).pipe(Layer.provide([server, Offline.layer, tools, Store.memory]), Layer.launch, NodeRuntime.runMain)
