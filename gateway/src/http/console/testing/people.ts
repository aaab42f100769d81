/** People with a browser who are signed in, and what a refusal looks like to them. */
import assert from "node:assert/strict";
import { type Answer, Browser, type TestConsole } from "../testing.ts";

export type Accounts = Parameters<TestConsole["person"]>[0];
export type Person = Awaited<ReturnType<TestConsole["person"]>> & { browser: Browser };

export async function signedIn(
  testConsole: TestConsole,
  accounts: Accounts = [],
  more?: { operator: boolean },
): Promise<Person> {
  const person = await testConsole.person(accounts, more);
  const browser = new Browser(testConsole);
  await browser.enter(testConsole, person.identityId);
  return { ...person, browser };
}

/** `param` where the refusal has no code: a 400 that names the field. */
export function assertRefused(answer: Answer, status: number, codeOrParam: string): void {
  assert.equal(answer.status, status, answer.text);
  const { code, type, param, message } = answer.body.error ?? {};
  assert.equal(code ?? param, codeOrParam, answer.text);
  assert.equal(type, code ?? "invalid_request_error");
  assert.ok(message);
  assert.deepEqual(Object.keys(answer.body), ["error"]);
  assert.match(String(answer.headers["x-request-id"]), /^req_[0-9a-z]{26}$/);
  assert.equal(answer.headers["x-should-retry"], "false");
}
