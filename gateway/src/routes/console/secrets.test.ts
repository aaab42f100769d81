/** The console does not log secrets. e2e/secrets searches all logs and data of a whole platform for secrets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../base/log.ts";
import { Browser } from "../testing/browser.ts";
import { openTestPlatform } from "../testing/platform.ts";

test("the gateway does not log the values of a row that the database refuses", async (t) => {
  const lines: string[] = [];
  const printed = t.mock.method(console, "error", () => {});
  const log = createLog("trace", { write: (line) => void lines.push(line) });
  const platform = await openTestPlatform({ log });
  t.after(() => platform.close());
  const { email, identityId } = await platform.person();
  // The constraint refuses the row; PostgreSQL's error then quotes it, including the session's token.
  await platform.pool.query("alter table identity_session add check (identity_id <> identity_id)");
  const answer = await new Browser(platform).signIn(email);
  assert.equal(answer.status, 500);
  assert.deepEqual(Object.keys(answer.body), ["error"]);
  assert.equal(printed.mock.callCount(), 0, "nothing goes past the log");
  assert.ok(lines.some((line) => line.includes("identities: request failed")));
  for (const line of lines) assert.ok(!line.includes(identityId), line);
});
