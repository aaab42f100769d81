/** For tests: signed-in persons with a browser, and assertions about refused requests. */
import assert from "node:assert/strict";
import { Browser, type BrowserResponse } from "./browser.ts";
import type { TestPlatform } from "./platform.ts";

type Accounts = Parameters<TestPlatform["person"]>[0];
export type Person = Awaited<ReturnType<TestPlatform["person"]>> & { browser: Browser };

export async function signInTestPerson(
  platform: TestPlatform,
  accounts: Accounts = [],
  more?: { operator: boolean },
): Promise<Person> {
  const person = await platform.person(accounts, more);
  const browser = new Browser(platform);
  await browser.enter(platform, person.identityId);
  return { ...person, browser };
}

/** Asserts a refused request: its status, and its code, or the field that a 400 without a code names. */
export function assertRefused(answer: BrowserResponse, status: number, codeOrParam: string): void {
  assert.equal(answer.status, status, answer.text);
  const { code, type, param, message } = answer.body.error ?? {};
  assert.equal(code ?? param, codeOrParam, answer.text);
  assert.equal(type, code ?? "invalid_request_error");
  assert.ok(message);
  assert.deepEqual(Object.keys(answer.body), ["error"]);
  assert.match(String(answer.headers["x-request-id"]), /^req_[0-9a-z]{26}$/);
  assert.equal(answer.headers["x-should-retry"], "false");
}
