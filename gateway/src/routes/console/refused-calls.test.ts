/** Refused calls of the public API, as the builder sees them in the console. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const SECRET = "the words of a prompt";

let platform: TestPlatform;
let owner: Person;
let keyId: Uuid;
let token: string;
before(async () => {
  platform = await openTestPlatform();
  owner = await signInTestPerson(platform, [{ kind: "builder" }]);
  ({ id: keyId, token } = await platform.parts.apiKeys.issue(owner.accountIds[0] as Uuid, "production"));
});
after(() => platform.close());

const chat = (body: object, key = token) =>
  platform.app.inject({
    method: "POST",
    url: "/v1/chat/completions",
    headers: { authorization: `Bearer ${key}` },
    payload: body,
  });
const messages = [{ role: "user", content: SECRET }];

interface Refusal {
  code: string;
  status: number;
  requests: number;
  keys: { id: string; requests: number }[];
  examples: { model: string | null; message: string }[];
}

test("a builder sees calls refused with 400, 401 and 404, without their content", async () => {
  assert.equal((await chat({ model: "tiny-3b", messages, temperature: 9 })).statusCode, 400);
  assert.equal((await chat({ model: "tiny-3b", messages, n: 2, [SECRET]: SECRET })).statusCode, 400);
  assert.equal((await chat({ model: "no-model", messages })).statusCode, 404);
  assert.equal((await chat({ model: SECRET, messages })).statusCode, 404);
  const schema = { type: "object", properties: { [SECRET]: { type: SECRET } } };
  const format = { type: "json_schema", json_schema: { name: "x", schema } };
  assert.equal((await chat({ model: "tiny-3b", messages, response_format: format })).statusCode, 400);
  // A token whose secret has a wrong last character.
  const wrong = token.slice(0, -1) + (token.endsWith("A") ? "B" : "A");
  assert.equal((await chat({ model: "tiny-3b", messages }, wrong)).statusCode, 401);
  const model = await platform.app.inject({ url: "/v1/models/none", headers: { authorization: `Bearer ${token}` } });
  assert.equal(model.statusCode, 404);
  await platform.parts.refusedCalls.flush();

  const answer = await owner.browser.send("GET", "/console/api/refusals");
  assert.equal(answer.status, 200, answer.text);
  assert.doesNotMatch(answer.text, new RegExp(SECRET));
  const found = answer.body.data as Refusal[];
  assert.deepEqual(found.map(({ code, status, requests }) => [code, status, requests]).sort(), [
    ["invalid_api_key", 401, 1],
    ["invalid_request_error", 400, 3],
    ["model_not_found", 404, 3],
  ]);
  assert.ok(found.every(({ keys }) => keys.length === 1 && keys[0]?.id === publicId("key", keyId)));
  const missing = found.find(({ code }) => code === "model_not_found");
  assert.deepEqual(missing?.examples.map((one) => one.model).sort(), ["no-model", "none", null].sort());
  const { rows } = await platform.pool.query("select examples::text from refused_last");
  assert.doesNotMatch(JSON.stringify(rows), new RegExp(SECRET));
});

test("a builder does not see another builder's refused calls", async () => {
  const other = await signInTestPerson(platform, [{ kind: "builder" }]);
  assert.deepEqual((await other.browser.send("GET", "/console/api/refusals")).body.data, []);
});
