// The one kind of message that the tests add to the field's own. Declaration merging is global to a program: this file is
// the only one that does it.
import * as Message from "../../src/Message.ts"

export const Notice = Message.custom("notice", { note: Message.Text.fields.text })
export type Notice = typeof Notice.Type

declare module "../../src/Message.ts" {
  interface CustomMessages {
    readonly notice: Notice
  }
}

export const notice = (note: string, timestamp = 0): Notice => ({ role: "notice", note, timestamp })
