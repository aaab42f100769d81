/** Performance figures of a builder's requests, where the playground's keys count as one. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../../base/clock.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { openRollupWriter } from "../../history/rollup-writer.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const URL = "/console/api/performance";

interface Row {
  key: string;
  requests: number;
  ok: number;
  ttft_ms: { p50: number };
}

describe("performance figures of the playground", () => {
  let platform: TestPlatform;
  let person: Person;
  /** One key that the account created, and the playground keys of two sessions. */
  let [own, first, second]: Uuid[] = [];
  before(async () => {
    platform = await openTestPlatform();
    person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const accountId = person.accountIds[0] as Uuid;
    const issued = async (): Promise<Uuid> =>
      parseId("key", String((await person.browser.send("POST", "/console/api/playground/key")).body.id)) as Uuid;
    first = await issued();
    await person.browser.enter(platform, person.identityId);
    second = await issued();
    own = (await platform.parts.apiKeys.issue(accountId, "own")).id;
    for (const keyId of [own, first, first, second]) {
      await insertServedRequest(platform, {
        accountId,
        keyId,
        charge: 1n,
        outcome: keyId === second ? "upstream_failed" : "ok",
      });
    }
    await rollUp();
  });
  after(() => platform.close());

  const rollUp = async (): Promise<void> => {
    const rollups = openRollupWriter({ pool: platform.pool, clock: systemClock, log: createLog("silent") });
    await rollups.run();
    await rollups.stop();
  };

  const ask = async (query: string): Promise<{ total: Row; data: Row[]; series: Row[] }> => {
    const { status, text, body } = await person.browser.send("GET", `${URL}?${query}`);
    assert.equal(status, 200, text);
    return body as unknown as { total: Row; data: Row[]; series: Row[] };
  };

  test("combine the requests of all playground sessions into one row", async () => {
    const { total, data } = await ask("by=key");
    assert.equal(total.requests, 4);
    assert.deepEqual(
      new Map(data.map(({ key, requests, ok, ttft_ms }) => [key, [requests, ok, ttft_ms.p50]])),
      new Map([
        [publicId("key", own as Uuid), [1, 1, 30]],
        ["playground", [3, 2, 30]],
      ]),
    );
  });

  test("are returned for the filter value playground", async () => {
    for (const by of ["key", "model"]) {
      const { total, data, series } = await ask(`key=playground&by=${by}`);
      assert.deepEqual([total.requests, total.ok], [3, 2], by);
      assert.deepEqual(
        data.map(({ requests }) => requests),
        [3],
        by,
      );
      assert.equal(series[0]?.requests, 3, by);
    }
    assert.equal((await ask(`key=${publicId("key", first as Uuid)}`)).total.requests, 2, "one of its keys by its id");
  });

  test("are empty for an account without playground keys", async () => {
    const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
    await insertServedRequest(platform, { accountId: accountIds[0] as Uuid, charge: 1n });
    await rollUp();
    for (const [query, requests] of [
      ["", 1],
      ["?key=playground", 0],
    ]) {
      const { body } = await browser.send("GET", `${URL}${query}`);
      assert.equal((body.total as Row).requests, requests, String(query));
    }
  });

  test("return 400 if the filter key is neither a key ID nor the word playground", async () => {
    const { status, body } = await person.browser.send("GET", `${URL}?key=none`);
    assert.equal(status, 400);
    const { param, message } = body.error as { param: string; message: string };
    assert.equal(param, "key");
    assert.match(message, /^"key" must be a key ID \(key_…\) or playground$/);
  });
});
