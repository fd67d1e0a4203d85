/**
 * The environment variables of the commands that tools run: by default those of this process.
 *
 * Variables that look like keys are not passed on, so that no command prints them into a transcript by accident. A
 * command that sets out to find them still can: this is no sandbox.
 */
import * as Context from "effect/Context"
import * as Record from "effect/Record"

export class Environment extends Context.Reference<Readonly<Record<string, string | undefined>>>(
  "effect-agent/tools/Environment",
  { defaultValue: () => process.env }
) {}

/** Whether a variable looks like a key by its name: `ANTHROPIC_API_KEY`, `GITHUB_TOKEN`, `AWS_SECRET_ACCESS_KEY`, … */
export const looksSecret = (name: string): boolean =>
  /(^|_)(API_?KEYS?|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|CUSTOM_HEADERS)$/i.test(name) &&
  // The path of a file, which tools of that cloud need to start at all.
  name !== "GOOGLE_APPLICATION_CREDENTIALS"

export const withoutSecrets = (
  environment: Readonly<Record<string, string | undefined>>
): Record<string, string | undefined> => Record.filter(environment, (_value, name) => !looksSecret(name))
