import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ManualClock } from "../testing/manual-clock.ts";
import { type StubHandler, sendJson, stubServer, unusedAddress } from "../testing/stub-http.ts";
import { type EngineAbsence, explainAbsenceAt } from "./engine-absence.ts";

const look = (url: string, apiKey?: string): Promise<EngineAbsence | undefined> =>
  explainAbsenceAt(url, { apiKey, probeMs: 1_000, clock: new ManualClock() });
const page =
  (status: number): StubHandler =>
  (_request, response) =>
    void response.writeHead(status, { "content-type": "text/html; charset=utf-8" }).end("<html>");

async function findingAt(t: TestContext, answer: StubHandler, apiKey?: string): Promise<string> {
  const url = await stubServer(t, answer);
  const absence = await look(`${url}/v1/`, apiKey);
  if (absence === undefined) return "none";
  assert.equal(absence.url, url);
  assert.notEqual(absence.next, "");
  return `${absence.cause}: ${absence.what.replace(new URL(url).host, "HOST")}`;
}

test("reports no problem for an engine that lists models and is ready", async (t) => {
  assert.equal(await findingAt(t, (_request, response) => sendJson(response, { data: [] })), "none");
  const withoutHealth: StubHandler = ({ path }, response) => sendJson(response, {}, path === "/v1/models" ? 200 : 404);
  assert.equal(await findingAt(t, withoutHealth), "none");
});

test("recognizes an engine that is loading by its model list or by its health endpoint alone", async (t) => {
  const said = "loading: the engine at HOST is still loading its model (HTTP 503)";
  assert.equal(await findingAt(t, (_request, response) => sendJson(response, {}, 503)), said);
  assert.equal(
    await findingAt(t, ({ path }, response) => sendJson(response, {}, path === "/health" ? 503 : 200)),
    said,
  );
  assert.match(await findingAt(t, (_request, response) => sendJson(response, {}, 429)), /^loading: .*is overloaded/);
});

test("recognizes that an API key is required, or that the given key is refused", async (t) => {
  for (const status of [401, 403]) {
    const refuses: StubHandler = (_request, response) => sendJson(response, { error: "no" }, status);
    assert.equal(await findingAt(t, refuses), `key: the engine at HOST requires a key (HTTP ${status})`);
    assert.equal(await findingAt(t, refuses, "k"), `key: the engine at HOST refuses the key (HTTP ${status})`);
  }
});

test("recognizes that proxies, web servers and our own gateway are not engines", async (t) => {
  for (const status of [200, 403, 404, 502, 503])
    assert.equal(await findingAt(t, page(status)), `stranger: HOST is not an engine (HTTP ${status}, text/html)`);
  const away: StubHandler = (_request, response) => void response.writeHead(302, { location: "/login" }).end();
  assert.equal(await findingAt(t, away), "stranger: HOST is not an engine (HTTP 302)");
  const ours: StubHandler = (_request, response) => sendJson(response, {}, 401, { "x-request-id": "req_1" });
  assert.match(await findingAt(t, ours), /^stranger: HOST is a Tollgate gateway, not an engine \(HTTP 401\)/);
});

test("recognizes a closed port, an unknown host name and a timeout", async (t) => {
  const dead = await look(await unusedAddress());
  assert.match(dead?.what ?? "", /^nothing answers at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)$/);
  assert.match(dead?.next ?? "", /^start the engine/);
  const clock = new ManualClock();
  const silent = await stubServer(t, () => clock.advance(1_000));
  const late = await explainAbsenceAt(silent, { probeMs: 1_000, clock });
  assert.equal(late?.what, `nothing answers at ${new URL(silent).host} (no response in 1 s)`);
  assert.match(late?.next ?? "", /firewall/);
});
