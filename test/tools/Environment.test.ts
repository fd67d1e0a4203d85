import { expect, it } from "@effect/vitest"
import { looksSecret, withoutSecrets } from "../../src/tools/Environment.ts"

it.each([
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_CUSTOM_HEADERS",
  "OPENAI_API_KEY",
  "OPENAI_API_KEYS",
  "MY_APIKEY",
  "GITHUB_TOKEN",
  "npm_token",
  "TOKEN",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "CLIENT_SECRET",
  "PGPASSWORD_PASSWORD",
  "DB_PASSWD",
  "SERVICE_CREDENTIALS"
])("%s looks like a key", (name) => {
  expect(looksSecret(name)).toBe(true)
})

it.each([
  "PATH",
  "HOME",
  "MAX_TOKENS",
  "KEYBOARD",
  "MONKEY",
  "TOKENIZERS_PARALLELISM",
  "ANTHROPIC_BASE_URL",
  "SSH_AUTH_SOCK",
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "GOOGLE_APPLICATION_CREDENTIALS"
])("%s does not look like a key", (name) => {
  expect(looksSecret(name)).toBe(false)
})

it("what does not look like a key is passed on as it is", () => {
  expect(withoutSecrets({ A_TOKEN: "x", B: "", C: "=c", D: undefined })).toEqual({ B: "", C: "=c", D: undefined })
})
