/** Tests a builder's API keys through the console. The tests are ordered by HTTP status. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { startOfMonth } from "../../base/time.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

let platform: TestPlatform;
let owner: Person;
before(async () => {
  platform = await openTestPlatform();
  owner = await signInTestPerson(platform, [{ kind: "builder" }]);
});
after(() => platform.close());

const URL = "/console/api/keys";

interface KeyObject {
  [field: string]: unknown;
  id: string;
  name: string;
  start: string;
  secret?: string;
  spend_this_month: { requests: number; charge_micro: string };
  limits: Record<string, number>;
  revoked_at: number | null;
}

const create = async ({ browser }: Person, name: unknown) => browser.send("POST", URL, { body: { name } });
const made = async (person: Person, name = "a key"): Promise<KeyObject> =>
  (await create(person, name)).body as unknown as KeyObject;
const list = async ({ browser }: Person): Promise<KeyObject[]> =>
  (await browser.send("GET", URL)).body.data as unknown as KeyObject[];
const rowsOf = async (id: string) =>
  (await platform.pool.query("select name, revoked_at from api_key where id = $1", [parseId("key", id)])).rows;

describe("status 201", () => {
  test("returns a new key's secret only once", async () => {
    const answer = await create(owner, "  production  ");
    assert.equal(answer.status, 201);
    const { secret, ...shown } = answer.body as unknown as KeyObject;
    const { id, created_at, start } = shown;
    assert.match(String(secret), /^tsk_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}$/);
    assert.match(id, /^key_[0-9a-z]{26}$/);
    assert.ok(String(secret).startsWith(`${start}_`) && start.length === "tsk_live_".length + 12);
    assert.ok(Math.abs(Number(created_at) - Date.now() / 1000) < 60);
    assert.deepEqual(shown, {
      id,
      object: "api_key",
      name: "production",
      start,
      limits: { requests_per_minute: 600, tokens_per_minute: 2_000_000, in_flight: 64 },
      limits_set: { requests_per_minute: null, tokens_per_minute: null, in_flight: null },
      limits_max: { requests_per_minute: 600, tokens_per_minute: 2_000_000, in_flight: 64 },
      budget_day_micro: null,
      budget_month_micro: null,
      models: null,
      expires_at: null,
      old_secret_until: null,
      spot_checks: true,
      labels: false,
      reasoning_content: false,
      created_by: { name: "A person", email: owner.email },
      spend_today: { requests: 0, charge_micro: "0.000000" },
      spend_this_month: { requests: 0, charge_micro: "0.000000" },
      created_at,
      last_used_at: null,
      revoked_at: null,
    });
    const secretPart = String(secret).slice(start.length + 1);
    for (const text of [
      (await owner.browser.send("GET", URL)).text,
      (await owner.browser.send("PATCH", `${URL}/${id}`, { body: { name: "renamed" } })).text,
      (await owner.browser.send("DELETE", `${URL}/${id}`)).text,
    ]) {
      assert.ok(!text.includes(secretPart));
    }
  });
});

describe("status 200", () => {
  test("lists the account's keys, newest first, including revoked ones", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    await made(owner, "of somebody else");
    const first = await made(person, "first");
    const second = await made(person, "second");
    await person.browser.send("DELETE", `${URL}/${first.id}`);
    const keys = await list(person);
    assert.deepEqual(
      keys.map(({ id, name, revoked_at }) => ({ id, name, revoked: revoked_at !== null })),
      [
        { id: second.id, name: "second", revoked: false },
        { id: first.id, name: "first", revoked: true },
      ],
    );
    const { body } = await person.browser.send("GET", URL);
    assert.deepEqual([body.object, body.next_cursor], ["list", null]);
  });

  test("shows each key's exact spend of this month", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [accountId] = person.accountIds as [Uuid];
    const [busy, idle] = [await made(person, "busy"), await made(person, "idle")];
    const keyId = parseId("key", busy.id) as Uuid;
    for (const charge of [1n, 9_830_400_001n]) await insertServedRequest(platform, { accountId, keyId, charge });
    const before = new Date(startOfMonth(Date.now()).getTime() - 1);
    await insertServedRequest(platform, { accountId, keyId, charge: 7_000_000n, at: before });
    const spend = new Map((await list(person)).map(({ id, spend_this_month }) => [id, spend_this_month]));
    assert.deepEqual(spend.get(busy.id), { requests: 2, charge_micro: "9830.400002" });
    assert.deepEqual(spend.get(idle.id), { requests: 0, charge_micro: "0.000000" });
    const renamed = await person.browser.send("PATCH", `${URL}/${busy.id}`, { body: { name: "still busy" } });
    assert.deepEqual(renamed.body.spend_this_month, { requests: 2, charge_micro: "9830.400002" });
  });

  test("keeps the two options `labels` and `reasoning_content` of a key off by default; each can be enabled at creation or later", async () => {
    const shown = ({ labels, reasoning_content }: Record<string, unknown>) => [labels, reasoning_content];
    const made = await owner.browser.send("POST", URL, { body: { name: "made", labels: true } });
    assert.deepEqual([made.status, shown(made.body)], [201, [true, false]]);
    const change = (body: object) => owner.browser.send("PATCH", `${URL}/${made.body.id}`, { body });
    assert.deepEqual(shown((await change({ reasoning_content: true })).body), [true, true]);
    assert.deepEqual(shown((await change({ labels: false })).body), [false, true]);
    for (const field of ["labels", "reasoning_content"]) {
      const wrong = await change({ [field]: "yes" });
      const { error } = wrong.body as { error: { param: string; message: string } };
      assert.deepEqual([wrong.status, error.param, error.message], [400, field, `"${field}" must be true or false`]);
    }
  });

  test("shows the limits that an operator set for a key instead of the defaults", async () => {
    const { id } = await made(owner);
    await platform.pool.query("update api_key set in_flight_max = 2, tokens_per_minute_max = 0 where id = $1", [
      parseId("key", id),
    ]);
    const key = (await list(owner)).find((one) => one.id === id);
    assert.deepEqual(key?.limits, { requests_per_minute: 600, tokens_per_minute: 0, in_flight: 2 });
  });

  test("keeps a setting that the body omits, removes one that is null, and applies the lower of owner's and operator's limit", async () => {
    const { id } = await made(owner);
    const set = async (body: object) => (await owner.browser.send("PATCH", `${URL}/${id}`, { body })).body as KeyObject;
    const expires = Math.floor(Date.now() / 1000) + 3600;
    await set({ budget_month_micro: "0.000001", expires_at: expires, models: ["tiny-3b", "tiny-3b"] });
    const limited = await set({ limits: { requests_per_minute: 5, in_flight: 6 } });
    assert.deepEqual(
      [limited.budget_month_micro, limited.expires_at, limited.models],
      ["0.000001", expires, ["tiny-3b"]],
    );
    await platform.parts.apiKeys.setLimits(parseId("key", id) as Uuid, {
      requestsPerMinute: 3,
      tokensPerMinute: null,
      inFlight: 100,
    });
    const { limits, limits_set, limits_max } = await set({ limits: { requests_per_minute: null } });
    assert.deepEqual(limits_set, { requests_per_minute: null, tokens_per_minute: null, in_flight: 6 });
    assert.deepEqual(limits_max, { requests_per_minute: 3, tokens_per_minute: 2_000_000, in_flight: 100 });
    assert.deepEqual(limits, { requests_per_minute: 3, tokens_per_minute: 2_000_000, in_flight: 6 });
    const bare = await set({ limits: null, budget_month_micro: null, expires_at: null, models: null });
    assert.deepEqual(
      [bare.limits, bare.budget_month_micro, bare.expires_at, bare.models],
      [limits_max, null, null, null],
    );
  });

  test("lets a key keep a model that was removed from the catalogue, but not add another unknown model", async () => {
    const { id } = await made(owner);
    await platform.pool.query("update api_key set models = '{gone}' where id = $1", [parseId("key", id)]);
    const set = (models: string[]) => owner.browser.send("PATCH", `${URL}/${id}`, { body: { models } });
    assert.deepEqual((await set(["gone", "tiny-3b"])).body.models, ["gone", "tiny-3b"]);
    assertRefused(await set(["gone", "none"]), 400, "models[1]");
  });

  test("renames a key; revokes it permanently, and a second revocation changes nothing", async () => {
    const { id } = await made(owner, "old name");
    const renamed = await owner.browser.send("PATCH", `${URL}/${id}`, { body: { name: "Neuer Name – “ok” =1+1" } });
    assert.deepEqual([renamed.status, renamed.body.name], [200, "Neuer Name – “ok” =1+1"]);
    const revoked = await owner.browser.send("DELETE", `${URL}/${id}`);
    assert.equal(revoked.status, 200);
    assert.ok(Number(revoked.body.revoked_at) > 0);
    const [row] = await rowsOf(id);
    assert.deepEqual((await owner.browser.send("DELETE", `${URL}/${id}`)).body, revoked.body);
    assert.deepEqual(await rowsOf(id), [row]);
  });
});

describe("status 400", () => {
  const WRONG: [string, unknown, RegExp][] = [
    ["none", undefined, /is required/],
    ["null", null, /is required/],
    ["a number", 7, /must be a string/],
    ["nothing but spaces", "   ", /must not be empty/],
    ["201 characters", "x".repeat(201), /at most 200 characters/],
  ];
  for (const [what, name, rule] of WRONG) {
    test(`refuses a name that is ${what}`, async () => {
      const { id } = await made(owner, "as it was");
      const patched = await owner.browser.send("PATCH", `${URL}/${id}`, { body: { name } });
      for (const answer of [await create(owner, name), patched]) {
        assertRefused(answer, 400, "name");
        assert.match(String(answer.body.error?.message), rule);
      }
      assert.deepEqual(await rowsOf(id), [{ name: "as it was", revoked_at: null }]);
    });
  }

  test("refuses a body that is not a JSON object", async () => {
    for (const body of [[], "name", 7]) {
      const answer = await owner.browser.send("POST", URL, { body });
      assert.deepEqual([answer.status, answer.body.error?.param], [400, undefined]);
    }
  });
});

describe("status 404", () => {
  test("returns the same not_found for another account's key and for an unknown key, and changes nothing", async () => {
    const theirs = await made(owner, "theirs");
    const stranger = await signInTestPerson(platform, [{ kind: "builder" }]);
    const answers: unknown[] = [];
    for (const id of [theirs.id, publicId("key", platform.newId()), "key_nonsense", "nonsense"]) {
      for (const answer of [
        await stranger.browser.send("PATCH", `${URL}/${id}`, { body: { name: "stolen" } }),
        // A stranger gets 404 even with an invalid body, because the account is checked before the body.
        await stranger.browser.send("PATCH", `${URL}/${id}`, { body: {} }),
        await stranger.browser.send("DELETE", `${URL}/${id}`),
      ]) {
        assertRefused(answer, 404, "not_found");
        answers.push(answer.body);
      }
    }
    for (const body of answers) assert.deepEqual(body, answers[0]);
    assert.deepEqual(await rowsOf(theirs.id), [{ name: "theirs", revoked_at: null }]);
  });

  test("refuses to rename a revoked key (not_found)", async () => {
    const { id } = await made(owner, "gone");
    await owner.browser.send("DELETE", `${URL}/${id}`);
    assertRefused(await owner.browser.send("PATCH", `${URL}/${id}`, { body: { name: "back" } }), 404, "not_found");
    assert.equal((await rowsOf(id))[0].name, "gone");
  });
});

test("returns 405 with the allowed methods for a wrong method", async () => {
  assert.equal((await owner.browser.send("PUT", URL)).headers.allow, "GET, HEAD, POST");
  assert.equal((await owner.browser.send("PUT", `${URL}/key_1`)).headers.allow, "GET, HEAD, PATCH, DELETE");
});

test("the error for a field that is too large names the field and its limit", async () => {
  for (const chars of [70_000, 5_000_000]) {
    const answer = await create(owner, "x".repeat(chars));
    assert.equal(answer.status, 400);
    assert.match(JSON.stringify(answer.body), /\\"name\\" must have at most 200 characters/);
  }
  assertRefused(await create(owner, "x".repeat(10 * 1024 * 1024)), 413, "request_too_large");
});

describe("a member of the account's team", () => {
  const join = async (role: "member" | "owner"): Promise<Person> => {
    const joined = await signInTestPerson(platform);
    const values = [owner.accountIds[0], joined.identityId];
    await platform.pool.query(
      role === "owner"
        ? "insert into account_owner (account_id, identity_id) values ($1, $2)"
        : "insert into account_member (account_id, identity_id, role) values ($1, $2, 'member')",
      values,
    );
    return joined;
  };
  const change = ({ browser }: Person, id: string, body: object) => browser.send("PATCH", `${URL}/${id}`, { body });
  const rotate = ({ browser }: Person, id: string) =>
    browser.send("POST", `${URL}/${id}/rotate`, { body: { keep_old_s: 0 } });

  test("can change and rotate the keys that they created, revoke every key, and change no other key", async () => {
    const [member, second] = [await join("member"), await join("member")];
    const [own, others, owners] = [await made(member), await made(second), await made(owner)];
    assert.equal((await change(member, own.id, { name: "mine" })).status, 200);
    assert.equal((await rotate(member, own.id)).status, 200);
    for (const { id } of [others, owners]) {
      assertRefused(await change(member, id, { name: "taken over" }), 403, "role_required");
      assertRefused(await rotate(member, id), 403, "role_required");
    }
    assert.equal((await member.browser.send("DELETE", `${URL}/${others.id}`)).status, 200);
    const another = await join("owner");
    assert.equal((await rotate(another, owners.id)).status, 200, "owners work with every key");
  });

  test("can lower a key's limits, which only an owner can raise", async () => {
    const member = await join("member");
    const { id } = await made(member);
    const soon = Math.floor(Date.now() / 1000) + 86_400;
    const strict = {
      budget_day_micro: "1000000",
      budget_month_micro: "2000000",
      expires_at: soon,
      models: ["tiny-3b"],
      limits: { requests_per_minute: 10 },
    };
    assert.equal((await change(member, id, strict)).status, 200, "what was open can be bounded");
    const looser: [string, object][] = [
      ["budget_day_micro", { budget_day_micro: "1000001" }],
      ["budget_day_micro", { budget_day_micro: null }],
      ["budget_month_micro", { budget_month_micro: "3000000" }],
      ["expires_at", { expires_at: soon + 1 }],
      ["expires_at", { expires_at: null }],
      ["models", { models: ["tiny-3b", "small-8b"] }],
      ["models", { models: null }],
      ["limits", { limits: { requests_per_minute: 11 } }],
      ["limits", { limits: null }],
    ];
    for (const [field, body] of looser) {
      const answer = await change(member, id, body);
      assertRefused(answer, 403, "role_required");
      assert.match(String(answer.body.error?.message), new RegExp(`\\b${field}\\b`));
      assert.equal((await change(member, id, { budget_day_micro: "900000" })).status, 200, "stricter");
    }
    for (const [, body] of looser) assert.equal((await change(owner, id, body)).status, 200, JSON.stringify(body));
  });
});
