/** Tests traces as a collector receives them over HTTP in both encodings, and the error for missing packages. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { CloseFunction } from "../assemble/assembly-context.ts";
import { systemClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { noTracing } from "../base/tracing.ts";
import { VERSION } from "../base/version.ts";
import { parseConfig } from "../config.ts";
import { openTracing } from "./open-tracing.ts";

interface Span {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  status: { code?: number; message?: string };
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

interface Sent {
  type: string | undefined;
  token: string | undefined;
  path: string | undefined;
  bytes: Buffer;
}

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

/** A trace collector that listens on loopback. */
async function collector(t: TestContext) {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const pieces = await request.toArray();
    const { "content-type": type, authorization: token } = request.headers;
    sent.push({ type, token, path: request.url, bytes: Buffer.concat(pieces) });
    response.setHeader("content-type", "application/json").end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { sent, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Sets variables of this process's environment, because the OpenTelemetry packages read it directly. */
const set = new Set<string>();
afterEach(() => {
  for (const name of set) delete process.env[name];
  set.clear();
});

async function open(env: Record<string, string>, lines: string[] = []) {
  for (const [name, value] of Object.entries(env)) {
    process.env[name] = value;
    set.add(name);
  }
  const stops: CloseFunction[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(line) });
  const context = {
    config: parseConfig(env),
    clock: systemClock,
    log,
    gatewayId: "gw1",
    onClose: (stop: CloseFunction) => void stops.push(stop),
  };
  const tracing = await openTracing(context);
  return { tracing, close: async () => void (await Promise.all(stops.map((stop) => stop()))) };
}

function spansOf({ bytes }: Sent): { spans: Span[]; resource: Record<string, string | undefined> } {
  const { resourceSpans } = JSON.parse(bytes.toString());
  assert.equal(resourceSpans.length, 1);
  const [{ resource, scopeSpans }] = resourceSpans;
  const attributes = resource.attributes as Span["attributes"];
  return {
    spans: scopeSpans.flatMap(({ spans }: { spans: Span[] }) => spans),
    resource: Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
  };
}

describe("traces of requests", () => {
  test("are off and cost nothing unless a collector is configured", async () => {
    const { tracing } = await open({});
    assert.equal(tracing, noTracing);
    const one = tracing.begin("chat", { traceparent: `00-${TRACE}-${PARENT}-01` });
    assert.equal(one.id, undefined);
    assert.equal(one, tracing.begin("chat", {}), "no object is made for a request");
  });

  test("have a span per step within the request's span, which continues the client's trace", async (t) => {
    const { sent, url } = await collector(t);
    const { tracing, close } = await open({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20of-the-collector",
      OTEL_SERVICE_NAME: "tollgate-eu",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=staging",
    });
    const one = tracing.begin("chat", { traceparent: `00-${TRACE}-${PARENT}-01` });
    assert.equal(one.id, TRACE);
    for (const step of ["authenticate", "hold", "settle"]) one.step(step);
    one.note({ request: "req_1", model: "tiny-3b", status: 502, node: undefined });
    one.end("upstream_failed");
    await close();
    const [message] = sent as [Sent];
    assert.deepEqual(
      [message.type, message.path, message.token],
      ["application/json", "/v1/traces", "Bearer of-the-collector"],
    );
    const { spans, resource } = spansOf(message);
    assert.equal(resource["service.name"], "tollgate-eu");
    assert.equal(resource["service.version"], VERSION);
    assert.equal(resource["service.instance.id"], "gw1");
    assert.equal(resource["deployment.environment.name"], "staging");
    const whole = spans.find(({ name }) => name === "chat") as Span;
    assert.deepEqual([whole.traceId, whole.parentSpanId, whole.kind], [TRACE, PARENT, 2]);
    assert.deepEqual(whole.status, { code: 2, message: "upstream_failed" });
    assert.deepEqual(
      whole.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
      [
        ["tollgate.request", "req_1"],
        ["tollgate.model", "tiny-3b"],
        ["tollgate.status", 502],
      ],
    );
    const steps = spans.filter(({ name }) => name !== "chat");
    assert.deepEqual(
      steps.map(({ name, status }) => [name, status.code]),
      [
        ["authenticate", 0],
        ["hold", 0],
        ["settle", 2],
      ],
    );
    for (const { parentSpanId, traceId } of steps) assert.deepEqual([parentSpanId, traceId], [whole.spanId, TRACE]);
  });

  test("follow the client's sampling decision, and begin a new trace without a client's header", async (t) => {
    const { sent, url } = await collector(t);
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
    const { tracing, close } = await open(env);
    const left = tracing.begin("chat", { traceparent: `00-${TRACE}-${PARENT}-00` });
    left.step("authenticate");
    left.end();
    assert.equal(left.id, TRACE);
    for (const traceparent of [undefined, "nonsense", `00-${"0".repeat(32)}-${PARENT}-01`]) {
      tracing.begin("completion", { traceparent }).end();
    }
    await close();
    const { spans } = spansOf((sent as [Sent])[0]);
    assert.deepEqual(
      spans.map(({ name, parentSpanId }) => [name, parentSpanId]),
      [
        ["completion", undefined],
        ["completion", undefined],
        ["completion", undefined],
      ],
    );
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 3);
  });

  test("use OpenTelemetry's default protocol unless one is set", async (t) => {
    const { sent, url } = await collector(t);
    const { tracing, close } = await open({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/its/own/path` });
    const one = tracing.begin("embedding", {});
    one.step("dispatch and relay");
    one.end();
    await close();
    const [{ type, path, bytes }] = sent as [Sent];
    assert.deepEqual([type, path], ["application/x-protobuf", "/its/own/path"]);
    for (const word of ["embedding", "dispatch and relay", "tollgate"]) assert.ok(bytes.includes(word), word);
  });

  test("log one line if the collector is unreachable, and requests continue", async () => {
    const lines: string[] = [];
    const { tracing, close } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }, lines);
    for (let i = 0; i < 5; i++) tracing.begin("chat", {}).end();
    await close();
    assert.equal(lines.length, 1, lines.join(""));
    assert.match(String(lines[0]), /"msg":"could not send traces"/);
  });

  test("fail with an error that names the missing packages and how to install them", () => {
    // Runs in a child process, because a loaded module cannot be unloaded.
    const program = `
      import { registerHooks } from "node:module";
      registerHooks({ resolve(specifier, context, next) {
        if (!specifier.startsWith("@opentelemetry/")) return next(specifier, context);
        throw Object.assign(new Error("Cannot find package '" + specifier + "' imported from here"), { code: "ERR_MODULE_NOT_FOUND" });
      } });
      const { openTracing } = await import("./open-tracing.ts");
      const off = await openTracing({ config: { tracing: undefined } });
      console.log(off.begin("chat", {}).id);
      await openTracing({ config: { tracing: { encoding: "json" } } }).catch((error) => console.log(error.message));`;
    const cwd = fileURLToPath(new URL(".", import.meta.url));
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { cwd });
    const [off, refused] = String(stdout).split("\n");
    assert.equal(off, "undefined", String(stderr));
    assert.match(
      String(refused),
      /turns traces on, but the package @opentelemetry\/[\w-]+ is not installed: npm install (@opentelemetry\/[\w-]+@[\d.]+ ){6}\(/,
    );
  });
});
