/**
 * Tests the limits for strangers: the numbers of keys, tokens, nodes, guesses of a second factor and history rows, and
 * access to the internal port.
 */

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { isAlive } from "@tollgate/stage/dev-platform.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { callNodeApi } from "@tollgate/stage/nodes/hand-made-node.ts";
import { openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { computeAuthenticatorCode } from "../../gateway/src/accounts/testing/authenticator-codes.ts";
import { ConsoleClient } from "../console-client.ts";

/** More keys or tokens than any platform allows one account. */
const PLENTY = 1_000;
const NODES_MAX = 100;
const HARDWARE_BYTES_MAX = 8 * 1024;
const GUESSES = 300;
const GUESSES_MAX = 10;
const CHALLENGES = 12;
const REFUSALS_KEPT_MAX = 1_000;

describe("a gateway at which anyone may sign up", () => {
  let stage: ProcessStage;
  before(async () => {
    // Probation is off, because a host on probation may have only three nodes.
    stage = await openStage({ as: "processes", env: { TRUST_PROXY: "1", PROBATION_ANSWERS: "0" } });
  });
  after(() => stage?.close());
  afterEach(async () => {
    assert.ok(isAlive(stage.pid), "the gateway lives");
    await stage.noHolds();
    await assertBalanced(stage);
  });

  /** Signs up a person with a builder account and a host account. */
  const person = async (email: string) => {
    const client = new ConsoleClient({ ready: { gateway_url: stage.baseUrl } });
    const password = `the password of ${email}`;
    await client.send("POST", "auth/sign-up/email", { email, password, name: "Somebody" });
    await client.signIn({ email, password });
    for (const kind of ["builder", "host"]) await client.send("POST", "accounts", { kind, name: kind });
    return { client, email, password };
  };

  for (const [what, path, table] of [
    ["keys", "keys", "api_key"],
    ["host tokens", "host-tokens", "host_token"],
  ] as const) {
    test(`limits an account to a fixed number of ${what}`, async () => {
      const { client } = await person(`${path}@example.test`);
      assert.equal((await client.ask("POST", path, { name: "the first" })).status, 201);
      // Copies the first row in the table up to the limit, which is faster than creating each row through the API.
      await stage.query(
        `insert into ${table} (id, account_id, name, reference, secret_hash)
         select gen_random_uuid(), t.account_id, 'more', substr(md5(n::text || '${table}'), 1, 12), decode(repeat('00', 32), 'hex')
           from ${table} t, generate_series(1, $1) n where t.name = 'the first'`,
        [PLENTY],
      );
      const { status, body } = await client.ask("POST", path, { name: "one too many" });
      assert.ok(status === 409 || status === 422 || status === 429, `${status}`);
      assert.ok(body.error?.message);
    });
  }

  test("limits a host to 100 nodes, and lists them in pages without hardware data", async () => {
    const { token } = await stage.host();
    const facts = { facts: "x".repeat(HARDWARE_BYTES_MAX - 100) };
    for (let i = 0; i < NODES_MAX; i++) {
      const hardware = i < 2 ? facts : {};
      const { status } = await callNodeApi(stage, token, "POST", "/nodes", { name: `node ${i}`, hardware, agent: "x" });
      assert.equal(status, 200, `node ${i}`);
    }
    const refused = await callNodeApi(stage, token, "POST", "/nodes", { name: "one too many" });
    assert.equal(refused.status, 409);
    const seen = new Set<string>();
    let cursor: string | null = null;
    do {
      type Page = { data: { id: string }[]; next_cursor: string | null };
      const query: string = cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`;
      const { body, status } = await callNodeApi<Page>(stage, token, "GET", `/nodes${query}`);
      assert.equal(status, 200);
      assert.ok(body.data.length <= 50, `a page of ${body.data.length}`);
      assert.ok(JSON.stringify(body).length < 64 * 1024, "a page is small");
      for (const { id } of body.data) seen.add(id);
      cursor = body.next_cursor;
    } while (cursor !== null);
    assert.equal(seen.size, NODES_MAX);
  });

  test("refuses to register a node with 60 KiB of hardware data", async () => {
    const { token } = await stage.host();
    for (const hardware of [{ facts: "x".repeat(60 * 1024) }, { facts: "x".repeat(HARDWARE_BYTES_MAX) }]) {
      const { status, body } = await callNodeApi(stage, token, "POST", "/nodes", { name: "big", hardware });
      assert.deepEqual([status, body.error?.param], [400, "hardware"]);
    }
    assert.deepEqual((await callNodeApi<{ data: object[] }>(stage, token, "GET", "/nodes")).body.data, []);
  });

  test("checks only ten of 300 concurrent guesses of a second factor, even if each has another IP address", async () => {
    const { client, email, password } = await person("guessed@example.test");
    const { secret } = await client.send<{ secret: string }>("POST", "auth/two-factor/enable", { password });
    await client.send("POST", "auth/two-factor/confirm", { code: computeAuthenticatorCode(secret) });
    let asked = 0;
    /** Sends each request from another IP address. */
    const post = (path: string, body: object, cookie = ""): Promise<Response> =>
      fetch(`${stage.baseUrl}/console/api/auth/${path}`, {
        method: "POST",
        headers: {
          "sec-fetch-site": "same-origin",
          cookie,
          "content-type": "application/json",
          "x-forwarded-for": `10.${asked >> 8}.${asked++ & 255}.1`,
        },
        body: JSON.stringify(body),
      });
    /** Signs in with the right password. Only the second factor is missing then. */
    const challenge = async (): Promise<string> => {
      const response = await post("sign-in/email", { email, password });
      assert.deepEqual(await response.json(), { status: "two_factor_required" });
      return response.headers
        .getSetCookie()
        .map((line) => line.split(";", 1)[0])
        .join("; ");
    };
    const challenges: string[] = [];
    for (let i = 0; i < CHALLENGES; i++) challenges.push(await challenge());
    const guess = async (code: string, i: number): Promise<{ status: number; param: string | undefined }> => {
      const response = await post("sign-in/code", { code }, challenges[i % CHALLENGES] as string);
      const { error } = (await response.json()) as { error?: { param?: string } };
      return { status: response.status, param: error?.param };
    };
    const right = new Set([-1, 0, 1, 2].map((steps) => computeAuthenticatorCode(secret, steps)));
    const codes = Array.from({ length: GUESSES + 4 }, (_, i) => String(i).padStart(6, "0"));
    const wrong = codes.filter((code) => !right.has(code)).slice(0, GUESSES);
    const answers = await Promise.all(wrong.map(guess));
    assert.ok(answers.every(({ status }) => status >= 400));
    const lookedAt = answers.filter(({ status, param }) => status === 400 && param === "code");
    assert.ok(lookedAt.length <= GUESSES_MAX, `${lookedAt.length} guesses were looked at`);
    challenges.fill(await challenge());
    assert.notEqual(
      (await guess(computeAuthenticatorCode(secret, 1), 0)).status,
      200,
      "then not even the right one is",
    );
  });

  test("writes at most 1,000 rows an hour for requests of one key that are all refused", async () => {
    const { account, key } = await stage.builder(undefined, { requests: 0 });
    const order = { model: "tiny-3b", prompt: "hello" };
    const total = REFUSALS_KEPT_MAX + 300;
    let sent = 0;
    const logBytes = await stage.logBytes();
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        while (sent++ < total) {
          const response = await sendUserMessage(stage, key, order);
          await response.arrayBuffer();
          assert.equal(response.status, 429);
        }
      }),
    );
    // Refusals are counted in the background, so the test waits until all of them are.
    await eventually("every one of them is counted", async () => {
      const [sum] = await stage.query<{ requests: string }>(
        "select sum(requests) as requests from usage_hour where account_id = $1",
        [account],
      );
      return Number(sum?.requests) === total;
    });
    const hours = await stage.query<{ rows: number }>(
      "select count(*)::int as rows from request where account_id = $1 group by date_trunc('hour', created_at)",
      [account],
    );
    for (const { rows } of hours) assert.ok(rows > 0 && rows <= REFUSALS_KEPT_MAX + 1, `${rows} rows`);
    const streams = await stage.query<{ stream: boolean | null }>(
      "select distinct stream from request where account_id = $1",
      [account],
    );
    assert.deepEqual(streams, [{ stream: null }], "whether it was to be streamed nobody knew");
    const grown = (await stage.logBytes()) - logBytes;
    assert.ok(grown < 256 * 1024, `the log grew by ${grown} bytes`);
  });

  test("serves the internal port only on loopback, whatever address the API uses", async () => {
    // Another loopback address is used as the public one, because tests must not listen on a public address.
    const second = await stage.addGateway({ HOST: "127.0.0.2" });
    try {
      const reached = (host: string, port: number, path: string): Promise<number> =>
        fetch(`http://${host}:${port}${path}`).then(
          ({ status }) => status,
          () => 0,
        );
      const publicPort = Number(new URL(second.baseUrl).port);
      assert.equal(await reached("127.0.0.2", publicPort, "/v1/models"), 401);
      assert.equal(await reached("127.0.0.1", second.internalPort, "/readyz"), 200);
      assert.equal(await reached("127.0.0.2", second.internalPort, "/readyz"), 0);
      assert.equal(await reached("127.0.0.2", second.internalPort, "/metrics"), 0);
    } finally {
      await stage.removeGateway(second);
    }
  });
});
