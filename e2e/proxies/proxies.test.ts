/**
 * Tests two gateways behind nginx, HAProxy, Caddy and Envoy at the same time, each with its configuration in
 * deploy/proxies. Every test checks all proxies. Proxies that cannot run here are listed as skipped tests.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { connect, constants } from "node:http2";
import { Agent, request } from "node:https";
import { after, before, describe, test } from "node:test";
import { makeKey, openBuilderAccount, openHostAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { createDataDir, type Platform, removeDataDir } from "@tollgate/stage/dev-platform.ts";
import { type NatsPlane, openNats, skipWithoutNats } from "@tollgate/stage/dispatch-planes.ts";
import { startGatewayProcess } from "@tollgate/stage/gateway-process.ts";
import type { Process } from "@tollgate/stage/killable-process.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { RECEIPT_SEED, TEST_KEY_PEPPER, WITHOUT_DURABLE_COMMITS } from "@tollgate/stage/stage-database.ts";
import { eventually, failIfHung } from "@tollgate/stage/wait.ts";
import { formatConnectionUrl, openTestDatabase, type TestDatabase } from "../../gateway/src/db/testing.ts";
import { createAuthority } from "../../gateway/src/plane/credentials/x509.ts";
import {
  explainMissingProxy,
  GATEWAY_ADDRESSES,
  PROXIES,
  type RunningProxy,
  startProxy,
  type Upstream,
} from "./proxy.ts";

type Gateway = Awaited<ReturnType<typeof startGatewayProcess>>;

const here = PROXIES.filter((name) => explainMissingProxy(name) === false);
const skip = skipWithoutNats || (process.platform !== "linux" && "only Linux has every loopback address");

const script = (orders: object) => ({
  model: "tiny-3b",
  messages: [{ role: "user", content: `#script ${JSON.stringify(orders)}` }],
});

interface Asked {
  body?: object | string;
  /** Declares a body of this many bytes, and sends none of it. */
  announces?: number;
  from?: string;
  headers?: Record<string, string>;
  /** Called with the text so far after each piece. Returns true to stop reading. */
  on?: (text: string, pieces: number) => boolean;
}

for (const name of PROXIES) test(`${name} is installed`, { skip: explainMissingProxy(name) }, () => {});

describe("gateways behind proxies", { skip }, () => {
  const authority = createAuthority({ name: "tollgate test", nowMs: Date.now() });
  const { cert, key } = authority.issue("localhost", ["127.0.0.1"]);
  let db: TestDatabase;
  let nats: NatsPlane;
  let env: Record<string, string>;
  let upstream: Upstream;
  let place: string;
  let apiKey: string;
  const dataDirs: string[] = [];
  const gateways: Gateway[] = [];
  const nodes: Process[] = [];
  const proxies: RunningProxy[] = [];
  let starts = 0;

  const query: Platform["query"] = async (sql, values = []) => (await db.pool.query(sql, values)).rows;
  const start = (nth: number, more: Record<string, string> = {}): Promise<Gateway> => {
    starts += 1;
    const at = GATEWAY_ADDRESSES[nth] as string;
    return startGatewayProcess(
      dataDirs[nth] as string,
      { RECEIPT_SEED, ...env, HOST: at, INTERNAL_HOST: at, ...more },
      `gateway-${starts}`,
    );
  };
  before(async () => {
    place = await createDataDir();
    db = await openTestDatabase();
    nats = await openNats();
    upstream = { port: await findFreePort(), internalPort: await findFreePort() };
    env = {
      ...nats.env,
      ...WITHOUT_DURABLE_COMMITS,
      DATABASE_URL: formatConnectionUrl(db.connection),
      KEY_PEPPER: TEST_KEY_PEPPER,
      PORT: String(upstream.port),
      INTERNAL_PORT: String(upstream.internalPort),
      TRUST_PROXY: "1",
      DRAIN_DELAY_S: "10",
      AUTO_QUARANTINE: "false",
      PROBATION_ANSWERS: "0",
    };
    for (const nth of [0, 1]) {
      dataDirs.push(await createDataDir());
      // The first gateway drains for up to an hour: the test ends it when it has seen enough.
      gateways.push(await start(nth, nth === 0 ? { DRAIN_DELAY_S: "3600" } : {}));
    }
    const wide = { requests: 1_000_000, tokens: 1_000_000_000, inFlight: 10_000 };
    apiKey = (await makeKey(query, await openBuilderAccount(query, 100_000_000_000_000n), wide)).token;
    const ready = { gateway_url: (gateways[0] as Gateway).baseUrl, host_token: (await openHostAccount(query)).token };
    nodes.push(await startNode({ ready }, { name: "one", model: "tiny-3b", slots: 64 }));
    for (const name of here) proxies.push(await startProxy(name, upstream, { cert, key, place }));
    for (const proxy of proxies) {
      const works = async () =>
        (await ask(proxy, "/v1/chat/completions", { body: script({ text: "hello" }) })).status === 200;
      await eventually(`${proxy.name} serves`, () => works().catch(() => false));
    }
  });
  after(async () => {
    for (const node of nodes) await node.kill();
    for (const proxy of proxies) await proxy.close();
    for (const gateway of gateways) await gateway.kill();
    await nats?.close();
    await db?.close();
    for (const dataDir of [...dataDirs, place]) await removeDataDir(dataDir);
  });

  const ask = (proxy: RunningProxy, path: string, { body, announces, from, headers = {}, on }: Asked = {}) =>
    new Promise<{ status: number; text: string; isToldAgain: boolean }>((resolve, reject) => {
      const asked = request(
        {
          ...{
            host: "127.0.0.1",
            port: proxy.port,
            path,
            method: body === undefined && announces === undefined ? "GET" : "POST",
            ca: authority.cert,
          },
          ...(from !== undefined && { localAddress: from }),
          agent: new Agent({ keepAlive: false }),
          headers: {
            authorization: `Bearer ${apiKey}`,
            "content-type": "application/json",
            ...headers,
            ...(announces !== undefined && { "content-length": announces }),
          },
        },
        (answer) => {
          let [text, pieces] = ["", 0];
          const isToldAgain = answer.statusCode === 503 && answer.headers["x-should-retry"] === "true";
          const done = (): void => resolve({ status: answer.statusCode ?? 0, text, isToldAgain });
          answer.setEncoding("utf8").on("data", (piece: string) => {
            text += piece;
            pieces += 1;
            if (on?.(text, pieces) !== true) return;
            done();
            answer.destroy();
          });
          answer.on("end", () => {
            done();
            if (announces !== undefined) asked.destroy();
          });
          answer.on("error", reject);
        },
      );
      asked.on("error", reject);
      if (announces !== undefined) asked.flushHeaders();
      else asked.end(body === undefined || typeof body === "string" ? body : JSON.stringify(body));
    });
  const ofAll = async (what: (proxy: RunningProxy, nth: number) => Promise<void>): Promise<void> => {
    await Promise.all(proxies.map(what));
  };

  test("a stream arrives chunk by chunk while it is generated", () =>
    ofAll(async (proxy) => {
      const body = { ...script({ tokens: 100_000, delta_ms: 200 }), stream: true, max_tokens: 5_000 };
      // A proxy that buffers the response would not send so little text in four pieces.
      const { status, text } = await ask(proxy, "/v1/chat/completions", { body, on: (_, pieces) => pieces === 4 });
      assert.equal(status, 200, proxy.name);
      assert.ok(text.length < 4_096, `${proxy.name}: ${text.length} characters in four pieces`);
    }));

  test("over HTTP/2, a failed stream is reset after its error event, and a successful one ends normally", async (t) => {
    const results: [string, string, number][] = [];
    for (const proxy of proxies) {
      const session = connect(`https://127.0.0.1:${proxy.port}`, { ca: authority.cert });
      // With a proxy that lacks HTTP/2, the handshake fails.
      const isHttp2 = await new Promise<boolean>((resolve) => {
        session.once("connect", (_, socket) => resolve("alpnProtocol" in socket && socket.alpnProtocol === "h2"));
        session.once("error", () => resolve(false));
      });
      for (const orders of isHttp2 ? [{ text: "one two three", fail_after: 2 }, { text: "one two three" }] : []) {
        const stream = session.request({
          ...{ ":method": "POST", ":path": "/v1/chat/completions" },
          ...{ authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        });
        let text = "";
        stream.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        // The reset also raises an error event, which is ignored here.
        stream.on("error", () => {});
        stream.end(JSON.stringify({ ...script(orders), stream: true }));
        await failIfHung("the stream ends", new Promise((resolve) => stream.once("close", resolve)));
        results.push([proxy.name, /"error"|\[DONE\]/.exec(text)?.[0] ?? text, stream.rstCode]);
      }
      session.destroy();
    }
    if (results.length === 0) return t.skip("no proxy here speaks HTTP/2");
    for (const [name, end, code] of results) {
      assert.ok(['"error"', "[DONE]"].includes(end), `${name}: ${end}`);
      // When the gateway's response breaks off, HAProxy 2.6 ends the client's stream normally. Only the error event
      // shows the failure.
      if (name === "HAProxy" && end !== "[DONE]") continue;
      assert.equal(end === "[DONE]", code === constants.NGHTTP2_NO_ERROR, `${name}: ${end}, reset with code ${code}`);
    }
  });

  test("sessions and sign-in attempts record the client's own IP address, whatever headers it sends", () =>
    ofAll(async (proxy, nth) => {
      const from = `127.0.1.${nth + 1}`;
      const email = `${proxy.name.toLowerCase()}@example.com`;
      const body = { email, password: "a password that is long", name: "Somebody" };
      const headers = { origin: `https://127.0.0.1:${proxy.port}`, "x-forwarded-for": "203.0.113.9" };
      const { status, text } = await ask(proxy, "/console/api/auth/sign-up/email", { body, from, headers });
      assert.equal(status, 200, `${proxy.name}: ${text}`);
      const rows = await query<{ address: string }>(
        "select s.ip_address as address from identity_session s join identity i on i.id = s.identity_id where i.email = $1",
        [email],
      );
      assert.deepEqual(rows, [{ address: from }], proxy.name);
    }));

  test("links use the https address that the client used", () =>
    ofAll(async (proxy) => {
      const { text } = await ask(proxy, "/", { headers: { accept: "application/json" } });
      assert.match(text, new RegExp(`"https://127\\.0\\.0\\.1:${proxy.port}`), proxy.name);
    }));

  test("large bodies pass, and bodies over the limit get the gateway's own error", () =>
    ofAll(async (proxy) => {
      const filled = (bytes: number): string =>
        JSON.stringify({ ...script({ text: "x" }), metadata: { a: "x".repeat(bytes) } });
      const large = await ask(proxy, "/v1/chat/completions", { body: filled(9 * 1024 * 1024) });
      assert.equal(large.status, 200, `${proxy.name}: ${large.text.slice(0, 300)}`);
      // A client that sends its whole body before it reads may find the connection closed, so this one sends only the
      // header.
      const { status, text } = await ask(proxy, "/v1/chat/completions", { announces: 10.5 * 1024 * 1024 });
      assert.equal(status, 413, `${proxy.name}: ${text.slice(0, 300)}`);
      assert.match(text, /"code":"request_too_large"/, proxy.name);
    }));

  /** Starts clients that send requests without pause until they are stopped. They retry like official clients. */
  const load = (through: RunningProxy[]) => {
    const errors: string[] = [];
    let [answers, isOver] = [0, false];
    const body = script({ tokens: 10, delta_ms: 10 });
    const lane = async (proxy: RunningProxy, isStream: boolean): Promise<void> => {
      while (!isOver) {
        try {
          const asked = { body: isStream ? { ...body, stream: true } : body };
          const { status, text, isToldAgain } = await ask(proxy, "/v1/chat/completions", asked);
          const isWhole = !isStream || (text.endsWith("data: [DONE]\n\n") && !text.includes('"error"'));
          if (status === 200 && isWhole) answers += 1;
          else if (!isToldAgain) errors.push(`${proxy.name}: ${status} ${text.slice(-300)}`);
        } catch (error) {
          errors.push(`${proxy.name}: ${(error as Error).message}`);
        }
      }
    };
    const lanes = through.flatMap((proxy) => [lane(proxy, true), lane(proxy, false)]);
    const more = async (count: number): Promise<void> => {
      const due = answers + count;
      await eventually("more was answered", () => answers >= due || errors.length > 0);
    };
    const stop = async (): Promise<void> => {
      isOver = true;
      await Promise.all(lanes);
    };
    return { errors, more, stop };
  };
  const internal = async (nth: number, path: string): Promise<string> =>
    (await fetch(`http://${GATEWAY_ADDRESSES[nth]}:${upstream.internalPort}${path}`)).text();
  /** Returns the number of requests that a gateway has finished. */
  const servedBy = async (nth: number): Promise<number> => {
    const page = await internal(nth, "/metrics");
    const counts = [...page.matchAll(/^tollgate_requests_total\{.*\} (\d+)$/gm)].map(([, count]) => Number(count));
    return counts.reduce((sum, count) => sum + count, 0);
  };

  test("proxies with health checks stop using a draining gateway before it closes, and no client sees an error", async (t) => {
    const looking = proxies.filter(({ looks }) => looks);
    if (looking.length === 0) return t.skip("no proxy that looks is here");
    const { errors, more, stop } = load(looking);
    await more(20);
    const drained = gateways[0] as Gateway;
    const ended = drained.stop();
    await eventually("it gets none while others answer 40 requests", async () => {
      const before = await servedBy(0);
      await more(40);
      return errors.length > 0 || (await servedBy(0)) === before;
    });
    assert.match(await internal(0, "/readyz"), /"draining"/);
    await drained.kill();
    await ended;
    await more(20);
    gateways[0] = await start(0);
    await eventually("it is used again", async () => (await servedBy(0)) > 0);
    await stop();
    assert.deepEqual(errors, []);
  });

  test("the health checks in deploy/proxies detect a draining gateway within 2 s", async () => {
    const read = (file: string) => readFile(new URL(`../../deploy/proxies/${file}`, import.meta.url), "utf8");
    for (const [file, pattern] of [
      ["haproxy.cfg", /inter (\d+)s fall (\d+)/],
      ["Caddyfile", /health_interval (\d+)s[\s\S]*health_fails (\d+)/],
      ["envoy.yaml", /\binterval: (\d+)s[\s\S]*unhealthy_threshold: (\d+)/],
    ] as const) {
      const [, everyS, looks] =
        pattern.exec(await read(file)) ?? assert.fail(`${file} does not say how often it looks`);
      assert.ok(Number(everyS) * Number(looks) <= 2, file);
    }
  });

  test("a gateway restarts under load behind all proxies, and no client sees an error", async () => {
    const { errors, more, stop } = load(proxies);
    await more(20);
    assert.equal(await (gateways[1] as Gateway).stop(), 0);
    await more(40);
    gateways[1] = await start(1);
    await eventually("it is used again", async () => (await servedBy(1)) > 0);
    await more(40);
    await stop();
    assert.deepEqual(errors, []);
  });
});
