import assert from "node:assert/strict";
import { stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { test } from "node:test";
import { unusedAddress } from "../testing/stub-http.ts";
import { isUnencrypted, loginCommand } from "./login.ts";
import { logoutCommand } from "./logout.ts";
import { commandHarness, makeLoggedInHarness } from "./testing/command-harness.ts";
import { STUB_HOST_TOKEN, STUB_NODE_ID, stubGateway } from "./testing/stub-gateway.ts";

test("login checks a token from standard input and stores it readable only by its owner", async (t) => {
  const gateway = await stubGateway(t);
  const { run, terminal, logins } = await commandHarness(t, { input: `${STUB_HOST_TOKEN}\n` });
  assert.equal(await run(loginCommand, "--gateway", `${gateway.url}/v1/`, "--token", "-"), 0);
  assert.deepEqual(gateway.calls, ["GET /nodes"]);
  assert.deepEqual(await logins.read(), { gateway: gateway.url, token: STUB_HOST_TOKEN });
  assert.equal((await stat(logins.path)).mode & 0o777, 0o600);
  assert.equal((await stat(dirname(logins.path))).mode & 0o777, 0o700);
  assert.match(
    terminal.text,
    /^logged in to http:.*; the account has 1 node\nstored the login in .*\nnext: tollgate-host register$/,
  );
  assert.ok(!terminal.everything.includes(STUB_HOST_TOKEN));
});

test("login asks for the token without showing the typed text", async (t) => {
  const gateway = await stubGateway(t);
  const { run, terminal, logins } = await commandHarness(t, { answers: [gateway.url, STUB_HOST_TOKEN] });
  assert.equal(await run(loginCommand), 0);
  assert.deepEqual(
    terminal.questions.map(({ hidden }) => hidden),
    [false, true],
  );
  assert.equal((await logins.read())?.token, STUB_HOST_TOKEN);
});

test("login keeps the stored gateway address if the user enters none", async (t) => {
  const { run, gateway, logins } = await makeLoggedInHarness(t, { answers: ["", STUB_HOST_TOKEN] });
  assert.equal(await run(loginCommand), 0);
  assert.equal((await logins.read())?.gateway, gateway.url);
});

test("login accepts the token from the environment, and prints JSON with --json", async (t) => {
  const gateway = await stubGateway(t);
  const { run, terminal } = await commandHarness(t, { context: { env: { TOLLGATE_HOST_TOKEN: STUB_HOST_TOKEN } } });
  assert.equal(await run(loginCommand, "--gateway", gateway.url, "--json"), 0);
  assert.deepEqual(terminal.json(), { gateway: gateway.url, nodes: 1, node: null });
});

test("login keeps the stored node with its engine and models while the account has that node, and removes them otherwise", async (t) => {
  const serving = { engine: "demo" as const, models: ["tiny-3b"] };
  const { run, gateway, logins } = await makeLoggedInHarness(t, { input: STUB_HOST_TOKEN, login: { serving } });
  await run(loginCommand, "--token", "-", "--gateway", gateway.url);
  assert.deepEqual(await logins.read(), {
    gateway: gateway.url,
    token: STUB_HOST_TOKEN,
    node: { id: STUB_NODE_ID, name: "box" },
    serving,
  });
  gateway.answers["GET /nodes"] = { data: [] };
  const again = await commandHarness(t, { input: STUB_HOST_TOKEN, context: { logins } });
  await again.run(loginCommand, "--token", "-", "--gateway", gateway.url);
  assert.deepEqual(await logins.read(), { gateway: gateway.url, token: STUB_HOST_TOKEN });
});

test("login reports a problem without repeating the token, and stores nothing", async (t) => {
  const gateway = await stubGateway(t);
  const cases: [input: string, args: string[], line: RegExp, exitCode: number][] = [
    [STUB_HOST_TOKEN, [], /--gateway is missing/, 2],
    [STUB_HOST_TOKEN, ["--gateway", "gateway.example"], /--gateway must be an address/, 2],
    ["", ["--gateway", gateway.url], /--token is missing/, 2],
    ["tsk_live_apikey_secret", ["--gateway", gateway.url], /begins with tht_live_/, 2],
    ["tht_live_other_secret", ["--gateway", gateway.url], /host token \(invalid_host_token\)$/, 1],
    [STUB_HOST_TOKEN, ["--gateway", await unusedAddress()], /cannot reach the gateway at http:.*ECONNREFUSED/, 1],
  ];
  for (const [input, args, line, exitCode] of cases) {
    const { fails, logins, terminal } = await commandHarness(t, { input });
    const report = await fails(loginCommand, ...args, "--token", "-");
    assert.match(report.message, line);
    assert.equal(report.exitCode, exitCode);
    assert.ok(report.next);
    if (input !== "") assert.ok(!JSON.stringify([report, terminal.everything]).includes(input));
    assert.equal(await logins.read(), undefined);
  }
});

test("login replaces a damaged login file", async (t) => {
  const gateway = await stubGateway(t);
  const { run, logins } = await commandHarness(t, { input: STUB_HOST_TOKEN });
  await logins.write({ gateway: gateway.url, token: STUB_HOST_TOKEN });
  await writeFile(logins.path, "{");
  assert.equal(await run(loginCommand, "--gateway", gateway.url, "--token", "-"), 0);
  assert.equal((await logins.read())?.token, STUB_HOST_TOKEN);
});

test("a gateway address counts as unencrypted if the token would cross the network in clear text", () => {
  const clear = ["http://gateway.example", "http://10.0.0.7:8080"];
  const safe = ["https://gateway.example", "http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"];
  assert.deepEqual(clear.filter(isUnencrypted), clear);
  assert.deepEqual(safe.filter(isUnencrypted), []);
});

test("logout removes the login file and warns that the token still works", async (t) => {
  const { run, terminal, logins } = await makeLoggedInHarness(t);
  assert.equal(await run(logoutCommand), 0);
  assert.match(terminal.text, /^removed .*\nthe token is still valid/);
  assert.equal(await logins.read(), undefined);
  assert.equal(await run(logoutCommand, "--json"), 0);
  assert.equal(terminal.lines.at(-1), '{\n  "removed": false\n}');
});
