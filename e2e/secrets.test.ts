/**
 * A platform through a busy time with every kind of secret, and canary words in prompts and outputs; then all that it wrote
 * and answered is searched for them: logs at their most talkative, screen, every table, every file, every other answer.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type DemoProvider, openDemoProvider } from "@tollgate/demo-provider/demo-provider.ts";
import { PRIVATE_DATABASE } from "@tollgate/stage/database.ts";
import { newDataDir, type Platform, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { openTestMailbox, type TestMailbox } from "../gateway/src/accounts/testing/smtp.ts";
import { systemClock } from "../gateway/src/base/clock.ts";
import { createLog } from "../gateway/src/base/log.ts";
import { systemRandom } from "../gateway/src/base/random.ts";
import { type Answer, ConsoleClient } from "./console-client.ts";

/** By what it is. Whoever makes a secret is shown it once: in that answer it may stand. */
const secrets = new Map<string, { value: string; shownIn?: Answer | undefined }>();
const keep = (what: string, value: string, shownIn?: Answer): string => {
  assert.ok(value.length >= 10, `${what} is long enough to be searched for`);
  secrets.set(what, { value, shownIn });
  return value;
};
let made = 0;
/** A word that stands nowhere else. */
const canary = (what: string): string => keep(`${what} ${made++}`, `canary${randomBytes(9).toString("hex")}`);

let dataDir: string;
let platform: Platform;
let mailbox: TestMailbox;
let demo: DemoProvider;
const answers: { what: string; answer: Answer }[] = [];
const rows: string[] = [];
before(async () => {
  dataDir = await newDataDir();
  mailbox = await openTestMailbox();
  demo = await openDemoProvider({ clock: systemClock, random: systemRandom(), log: createLog("silent") });
  platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b,reason-32b,embed-m3"], {
    ...PRIVATE_DATABASE,
    LOG_LEVEL: "trace",
    PUBLIC_URL: "http://gate.test",
    SMTP_URL: mailbox.url,
    MAIL_FROM: "noreply@gate.test",
    STRIPE_SECRET_KEY: keep("the provider's key", demo.secretKey),
    STRIPE_WEBHOOK_SECRET: keep("the webhook secret", demo.webhookSecret),
    STRIPE_API_BASE: demo.url,
  });
  demo.deliveries.to(`${platform.ready.base_url}/webhooks/stripe`);
});
after(async () => {
  await demo.close();
  await mailbox.close();
  await removeDataDir(dataDir);
});

const clientFor = (who: string): ConsoleClient =>
  new ConsoleClient(platform, (answer) => answers.push({ what: who, answer }));
const cookiesOf = (who: ConsoleClient, when: string): void => {
  for (const [name, value] of who.cookies) keep(`the cookie ${name} ${when}`, decodeURIComponent(value));
};
const mailedToken = async (): Promise<string> =>
  decodeURIComponent(/#token=(\S+)/.exec((await mailbox.next()).text)?.[1] ?? "");

/** Any request to the public or the node API; what it answers is kept unless it is the model's own words. */
async function call(path: string, token: string, body: string | object, isOutput = false): Promise<number> {
  const response = await fetch(`${platform.ready.base_url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  if (!isOutput) answers.push({ what: path, answer: { status: response.status, text, body: {} } });
  return response.status;
}

describe("secrets, prompts and outputs", () => {
  let operator: ConsoleClient;
  let person: ConsoleClient;
  let [key, hostToken, account] = ["", "", ""];

  test("somebody signs up, confirms the address, forgets the password, sets another and a second factor", async () => {
    operator = await clientFor("operator").signIn(platform.ready.operator);
    cookiesOf(operator, "of the operator");
    person = clientFor("person");
    const [email, first, second] = ["holder@example.test", canary("password"), canary("password")];
    await person.send("POST", "auth/sign-up/email", { email, password: first, name: "A person" });
    await person.send("POST", "auth/verify-email", { token: keep("the confirmation's token", await mailedToken()) });
    await person.ask("POST", "auth/sign-in/email", { email, password: canary("wrong password") });
    await person.signIn({ email, password: first });
    cookiesOf(person, "before the reset");
    await person.send("POST", "auth/request-password-reset", { email });
    const token = keep("the reset's token", await mailedToken());
    await person.ask("POST", "auth/reset-password", { token: canary("wrong token"), password: second });
    await person.send("POST", "auth/reset-password", { token, password: second });
    await person.signIn({ email, password: second });
    const begun = await person.ask("POST", "auth/two-factor/enable", { password: second });
    const { secret, backup_codes: codes } = begun.body as { secret: string; backup_codes: string[] };
    keep("the second factor's secret", secret, begun);
    for (const [i, code] of codes.entries()) keep(`backup code ${i}`, code, begun);
    cookiesOf(person, "after the reset");
  });

  test("keys and host tokens are made in the console and in the shell, renamed and revoked", async () => {
    account = (await person.send<{ id: string }>("POST", "accounts", { kind: "builder", name: "Work" })).id;
    await person.send("POST", "accounts", { kind: "host", name: "Farm" });
    await operator.send("POST", `operator/accounts/${account}/grant`, { amount_micro: "5000000", reason: "to begin" });
    for (const [path, kind] of [
      ["keys", "a key"],
      ["host-tokens", "a host token"],
    ] as const) {
      const answer = await person.ask("POST", path, { name: "canary-name" });
      const secret = keep(kind, String(answer.body.secret), answer);
      if (path === "keys") key = secret;
      else hostToken = secret;
      const doomed = await person.ask("POST", path, { name: "to be revoked" });
      keep(`${kind}, revoked`, String(doomed.body.secret), doomed);
      await person.send("DELETE", `${path}/${doomed.body.id}`);
      await person.get(path);
    }
    const { data } = await person.get<{ data: { id: string; name: string }[] }>("keys");
    await person.send("PATCH", `keys/${data.find(({ name }) => name === "canary-name")?.id}`, {
      name: "canary-name renamed",
    });
    await operator.get(`operator/accounts/${account}/keys`);
    const shell = tollgate(["admin", "key", "create", account, "shell", "--json", "--data", dataDir]);
    assert.equal(await shell.ended, 0, shell.output());
    keep("the shell's key", (JSON.parse(shell.output()) as { secret: string }).secret);
  });

  test("requests that are answered, refused, broken, failed, left and stalled", async () => {
    const theirs: Platform = { ...platform, ready: { ...platform.ready, api_key: key } };
    const served = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const orders = { text: canary("output"), reasoning: canary("reasoning") };
        // The tag is kept as the request's label; whatever else is said of it is not.
        const metadata = { tag: "a label", note: canary("prompt") };
        const more = { model: i % 2 === 0 ? "tiny-3b" : "reason-32b", stream: i % 3 === 0, metadata };
        const response = await chat(theirs, orders, more);
        await response.text();
        return response.status;
      }),
    );
    assert.deepEqual(new Set(served), new Set([200]));
    const messages = (content: unknown) => [{ role: "user", content }];
    const script = (orders: object) => `#script ${JSON.stringify({ text: `x ${canary("output")}`, ...orders })}`;
    const chatUrl = "/v1/chat/completions";
    const statuses = [
      await call("/v1/completions", key, { model: "tiny-3b", prompt: canary("prompt") }, true),
      await call("/v1/embeddings", key, { model: "embed-m3", input: [canary("prompt"), canary("prompt")] }),
      await call(chatUrl, key, { model: "tiny-3b", messages: messages([{ type: "image", text: canary("prompt") }]) }),
      await call(chatUrl, key, { model: "tiny-3b", messages: canary("prompt") }),
      await call(chatUrl, key, `{"model": "tiny-3b", "messages": ["${canary("prompt")}`),
      await call(chatUrl, key, { model: "tiny-3b", messages: messages(`${canary("prompt")} ${"word ".repeat(9000)}`) }),
      await call(chatUrl, key, { model: "gpt-9", messages: messages(canary("prompt")) }),
      await call(chatUrl, key, { model: "small-8b", messages: messages(canary("prompt")) }),
      await call(chatUrl, key, { model: "tiny-3b", messages: messages(script({ fail_after: 1 })) }),
      await call(chatUrl, key, { model: "tiny-3b", messages: messages(script({ garbage: true })) }),
      await call(chatUrl, key, {
        model: "tiny-3b",
        messages: messages(script({ stall_after: 1 })),
      }),
      await call(chatUrl, `tsk_live_${"a".repeat(12)}_${canary("wrong key")}`, { model: "tiny-3b" }),
      await call("/node/v1/nodes", `tht_live_${"a".repeat(12)}_${canary("wrong token")}`, { name: "x" }),
      await call("/node/v1/nodes", hostToken, { name: "a node" }),
    ];
    assert.deepEqual(statuses, [200, 200, 400, 400, 400, 400, 404, 503, 502, 502, 502, 401, 401, 200]);
    const leaving = new AbortController();
    const orders = { text: canary("output"), tokens: 500, delta_ms: 20 };
    const left = await chat(theirs, orders, { stream: true, max_tokens: 500 }, leaving.signal);
    await left.body?.getReader().read();
    leaving.abort();
    const { data } = (await (
      await fetch(`${platform.ready.base_url}/node/v1/nodes`, {
        headers: { authorization: `Bearer ${platform.ready.host_token}` },
      })
    ).json()) as { data: { id: string }[] };
    const tried = { model: "tiny-3b", prompt: canary("prompt") };
    assert.equal(await call(`/node/v1/nodes/${data[0]?.id}/try`, platform.ready.host_token, tried, true), 200);
  });

  test("a purchase, and webhooks that are not the provider's", async () => {
    await person.send("POST", "credits/checkout", { pack_id: "pack_5" });
    demo.shop.pay(demo.shop.sales.at(-1) as (typeof demo.shop.sales)[number]);
    await eventually("it is credited", async () => {
      const { data } = await person.get<{ data: { kind: string }[] }>("ledger");
      return data.some(({ kind }) => kind === "purchase");
    });
    const forged = { type: "checkout.session.completed", note: canary("forged webhook") };
    const response = await fetch(`${platform.ready.base_url}/webhooks/stripe`, {
      method: "POST",
      headers: { "stripe-signature": `t=1,v1=${canary("forged signature")}` },
      body: JSON.stringify(forged),
    });
    assert.equal(response.status, 400);
    answers.push({ what: "webhook", answer: { status: 400, text: await response.text(), body: {} } });
  });

  test("everything that can be read is read, by everybody", async () => {
    const { data } = await person.get<{ data: { id: string }[] }>("requests?limit=100");
    assert.ok(data.length >= 60);
    for (const { id } of data.slice(0, 3)) {
      await person.get(`requests/${id}`);
      await person.get(`requests/${id}/receipt`);
    }
    const lists = ["me", "sessions", "usage?by=key", "balance", "ledger", "nodes", "earnings", "auth/get-session"];
    for (const path of lists) await person.get(path);
    assert.equal((await person.ask("GET", "requests.csv")).status, 200);
    for (const path of ["overview", "accounts", "nodes", "payouts", "audit", "ledger/check"]) {
      await operator.get(`operator/${path}`);
    }
    const internal = /"internalPort":(\d+)/.exec(await readFile(join(dataDir, "gateway.log"), "utf8"))?.[1];
    for (const path of ["metrics", "healthz", "readyz"]) {
      const response = await fetch(`http://127.0.0.1:${internal}/${path}`);
      answers.push({ what: path, answer: { status: response.status, text: await response.text(), body: {} } });
    }
    const tables = await platform.query<{ tablename: string }>(
      "select tablename from pg_tables where schemaname = 'public'",
    );
    for (const { tablename } of tables) {
      const found = await platform.query<{ row: string }>(`select t::text as row from "${tablename}" t`);
      rows.push(...found.map(({ row }) => `${tablename}: ${row}`));
    }
    assert.equal(await platform.stop(), 0);
  });

  /** Where a value stands, of all places; its own making aside. */
  const findIn = (places: Iterable<[string, string | Buffer]>): string[] => {
    const found: string[] = [];
    for (const [place, content] of places) {
      for (const [what, { value }] of secrets) if (content.includes(value)) found.push(`${what} in ${place}`);
    }
    return found;
  };

  test("no log and no screen has any of it", async () => {
    assert.ok(secrets.size > 200, `${secrets.size} secrets`);
    keep("the development builder's password", platform.ready.builder.password);
    const logs: [string, string][] = [];
    for (const name of ["gateway.log", "local-1.log", "postgres/postgres.log"]) {
      logs.push([name, await readFile(join(dataDir, name), "utf8")]);
    }
    assert.match(logs[0]?.[1] ?? "", /"msg":"serving"/);
    assert.match(logs[1]?.[1] ?? "", /serving tiny-3b/);
    assert.deepEqual(findIn(logs), []);
    // The screen of a development platform shows how to sign in to it: that password is meant for it.
    secrets.delete("the development builder's password");
    assert.match(platform.output(), /Tollgate is ready/);
    assert.deepEqual(findIn([["the screen", platform.output()]]), []);
  });

  test("no table has any of it in clear", () => {
    assert.ok(rows.some((row) => row.startsWith("api_key: ") && row.includes("canary-name renamed")));
    assert.deepEqual(findIn(rows.map((row) => [row.slice(0, 60), row])), []);
    for (const [what, value] of Object.entries(platform.ready)) {
      if (typeof value !== "string" || what.endsWith("url")) continue;
      assert.ok(!rows.some((row) => row.includes(value)), what);
    }
  });

  test("no file of the data directory has any of it: not the tables' own, not their journal", async () => {
    const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const found: string[] = [];
    let names = 0;
    for (const file of files) {
      const content = await readFile(file);
      if (content.includes("canary-name renamed")) names += 1;
      found.push(...findIn([[file.slice(dataDir.length), content]]));
    }
    assert.ok(names >= 2, "what is not secret is found, in a table and in the journal");
    assert.deepEqual(found, []);
  });

  test("no answer has any of it, but the one that handed it out", () => {
    assert.ok(answers.length > 50, `${answers.length} answers`);
    const found = [...secrets].flatMap(([what, { value, shownIn }]) =>
      answers
        .filter(({ answer }) => answer !== shownIn && answer.text.includes(value))
        .map((other) => `${what} in an answer to ${other.what}: ${other.answer.text.slice(0, 200)}`),
    );
    assert.deepEqual(found, []);
    for (const [what, { value, shownIn }] of secrets) if (shownIn) assert.ok(shownIn.text.includes(value), what);
  });
});
