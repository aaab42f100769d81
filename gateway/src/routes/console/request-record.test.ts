/** The record of one request through the console: which fields it has, and who may read it. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { HOUR_MS } from "../../base/time.ts";
import { insertRefusedRequest, insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { getRequests, type RequestObject, REQUESTS_URL as URL } from "../testing/request-pages.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

describe("the record of a request", () => {
  test("returns a request with its exact charge and all fields for the builder, but without node or host", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const host = await signInTestPerson(platform, [{ kind: "host" }]);
    const nodeId = platform.newId();
    const keyId = platform.newId();
    const id = await insertServedRequest(platform, {
      accountId: person.accountIds[0] as Uuid,
      keyId,
      keyName: "production",
      hold: 9_830_400_000n,
      charge: 1_234_567n,
      promptTokens: 11,
      completionTokens: 22,
      host: { accountId: host.accountIds[0] as Uuid, nodeId },
    });
    const answer = await person.browser.send("GET", `${URL}/${publicId("req", id)}`);
    assert.equal(answer.status, 200);
    const { created_at, finished_at, ...record } = answer.body;
    assert.ok(Number.isInteger(created_at) && Number(finished_at) >= Number(created_at));
    assert.deepEqual(record, {
      id: publicId("req", id),
      object: "request",
      key: { id: publicId("key", keyId), name: "production" },
      endpoint: "chat",
      model: "tiny-3b",
      build: "a build",
      tokenizer: "a tokenizer",
      stream: false,
      outcome: "ok",
      http_status: 200,
      finish_reason: "stop",
      usage: { prompt_tokens: 11, completion_tokens: 22, reasoning_tokens: 1 },
      hold_micro: "9830.400000",
      charge_micro: "1.234567",
      refund_micro: "9829.165433",
      price_version: 1,
      attempts: 1,
      queue_ms: 2,
      ttft_ms: 30,
      duration_ms: 400,
      client: "openai-js",
      label: null,
      count: 1,
      attempt_list: [],
    });
    const listed = await getRequests(person);
    assert.deepEqual({ ...(listed.body.data as object[])[0], attempt_list: [] }, answer.body);
    for (const secret of [publicId("node", nodeId), nodeId, publicId("acc", host.accountIds[0] as Uuid)]) {
      assert.ok(!answer.text.includes(secret) && !listed.text.includes(secret));
    }
  });

  test("returns every attempt of a request that was tried again, with the nodes only for operators", async () => {
    const [person, host, operator] = [
      await signInTestPerson(platform, [{ kind: "builder" }]),
      await signInTestPerson(platform, [{ kind: "host" }]),
      await signInTestPerson(platform, [], { operator: true }),
    ];
    const id = await insertServedRequest(platform, { accountId: person.accountIds[0] as Uuid, charge: 1n });
    const nodeIds: Uuid[] = [];
    for (const name of ["silent", "garage"]) {
      const registered = { name, hardware: {}, agent: "" };
      nodeIds.push((await platform.parts.fleet.register(host.accountIds[0] as Uuid, registered)).id);
    }
    const [silent, garage] = nodeIds as [Uuid, Uuid];
    platform.parts.requestAttempts.note(id, [
      { nodeId: silent, end: "quiet", offeredMs: 1, acceptedMs: 4, firstOutputMs: null, endedMs: 2004 },
      { nodeId: garage, end: "finished", offeredMs: 2005, acceptedMs: 2009, firstOutputMs: 2100, endedMs: 2600 },
    ]);
    await platform.parts.requestAttempts.flush();
    const attempts = [
      { outcome: "quiet", offered_ms: 1, accepted_ms: 4, first_token_ms: null, ended_ms: 2004 },
      { outcome: "finished", offered_ms: 2005, accepted_ms: 2009, first_token_ms: 2100, ended_ms: 2600 },
    ];
    const read = async ({ browser }: Person, path: string) =>
      (await browser.send("GET", `/console/api/${path}/${publicId("req", id)}`)).body.attempt_list;
    assert.deepEqual(await read(person, "requests"), attempts);
    assert.deepEqual(await read(operator, "operator/requests"), [
      { ...attempts[0], node: { id: publicId("node", silent), name: "silent" } },
      { ...attempts[1], node: { id: publicId("node", garage), name: "garage" } },
    ]);
    await platform.parts.requestAttempts.prune(new Date(Date.now() + HOUR_MS));
    assert.deepEqual(await read(person, "requests"), []);
  });

  test("returns a request that was refused with 429, with its error code and without model and charge", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    await insertRefusedRequest(platform, { accountId: person.accountIds[0] as Uuid, outcome: "rate_limit_tokens" });
    const [record] = (await getRequests(person)).body.data as RequestObject[];
    const { outcome, http_status, model, stream, charge_micro, hold_micro, finish_reason } = record as RequestObject;
    assert.deepEqual(
      { outcome, http_status, model, stream, charge_micro, hold_micro, finish_reason },
      {
        stream: null,
        outcome: "rate_limit_tokens",
        http_status: 429,
        model: null,
        charge_micro: "0.000000",
        hold_micro: "0.000000",
        finish_reason: null,
      },
    );
  });

  test("returns the same not_found for another account's request, an unknown request and an invalid ID", async () => {
    const owner = await signInTestPerson(platform, [{ kind: "builder" }]);
    const stranger = await signInTestPerson(platform, [{ kind: "builder" }]);
    const theirs = publicId("req", await insertServedRequest(platform, { accountId: owner.accountIds[0] as Uuid }));
    const bodies: unknown[] = [];
    for (const id of [theirs, publicId("req", platform.newId()), "req_1", "nonsense", theirs.toUpperCase()]) {
      for (const path of ["", "/receipt"]) {
        const answer = await stranger.browser.send("GET", `${URL}/${id}${path}`);
        assertRefused(answer, 404, "not_found");
        bodies.push(answer.body);
      }
    }
    for (const body of bodies) assert.deepEqual(body, bodies[0]);
    assert.equal((await owner.browser.send("GET", `${URL}/${theirs}`)).status, 200);
  });
});
