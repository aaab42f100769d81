/** For tests of the request parsers: a valid chat request, and the error of a refused one. */
import assert from "node:assert/strict";
import { Fault } from "../../faults.ts";

export const VALID_MESSAGES = [{ role: "user", content: "hi" }];
export const VALID_CHAT_REQUEST = { model: "tiny-3b", messages: VALID_MESSAGES };

/** Returns the field and the message of the 400 that refuses the body. */
export function parseRefusedRequest(
  parse: (body: unknown) => unknown,
  body: unknown,
): { param: unknown; message: string } {
  try {
    parse(body);
  } catch (error) {
    assert.ok(error instanceof Fault, String(error));
    const { error: shown } = error.body();
    assert.equal(error.status, 400);
    assert.equal(shown.type, "invalid_request_error");
    assert.ok(!("code" in shown));
    return { param: shown.param, message: shown.message };
  }
  throw new Error("nothing was refused");
}
