/**
 * Tests TLS of the API, the console, the embedded hub and a NATS server. Clients trust the certificates only through
 * NODE_EXTRA_CA_CERTS. Wrong settings are tested in gateway/src/config.test.ts and
 * gateway/src/base/certificate.test.ts.
 */
import assert from "node:assert/strict";
import { readFile, rename, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sendUserMessage as askOverHttp } from "@tollgate/stage/builder-requests.ts";
import {
  createDataDir,
  type Platform,
  removeDataDir,
  runTollgate,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { openNats, skipWithoutNats } from "@tollgate/stage/dispatch-planes.ts";
import { enrolNode, fetchCredentials } from "@tollgate/stage/nodes/hand-made-node.ts";
import { createAgent } from "@tollgate/stage/nodes/start-agent.ts";
import { NO_QUARANTINE_OR_PROBATION_ENV, openStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { selfSignedCertificate } from "../gateway/src/plane/hub/testing-certificate.ts";

const FLAGS = ["--engine", "scripted", "--models", "tiny-3b"];

interface Asked {
  method?: string;
  body?: object;
  headers?: Record<string, string>;
  /** Called with every piece of the response. */
  on?: (piece: string) => void;
}

interface Agents {
  gatewayUrl: string;
  hostToken: string;
  /** The directory for the agents' logs. */
  directory: string;
}

/** Makes an agent that trusts this certificate; without one, it trusts no test certificate. */
const agentOf = ({ directory, ...at }: Agents, name: string, trusted?: string) =>
  createAgent({
    ...at,
    name,
    models: ["tiny-3b"],
    slots: 4,
    logFile: join(directory, `${name}.log`),
    env: trusted === undefined ? {} : { NODE_EXTRA_CA_CERTS: trusted },
  });

/** Asserts that an agent that does not trust the plane's certificate does not connect, and logs the reason. */
async function assertDistrusts(agents: Agents, trusted?: string): Promise<void> {
  const agent = agentOf(agents, "wary", trusted);
  await agent.start();
  try {
    await eventually("it names the certificate", async () => /certificate/i.test(await agent.log()));
    assert.doesNotMatch(await agent.log(), /^online /m);
  } finally {
    await agent.kill();
  }
}

describe("TLS of the API and of the embedded hub", () => {
  let dataDir: string;
  let platform: Platform;
  const made = selfSignedCertificate();
  const ofPlane = selfSignedCertificate("tollgate test plane");
  const files = (): [string, string] => [join(dataDir, "cert.pem"), join(dataDir, "key.pem")];
  const write = async ({ cert, key }: { cert: string; key: string }): Promise<void> => {
    const [certFile, keyFile] = files();
    for (const [file, text] of [
      [certFile, cert],
      [keyFile, key],
    ] as const) {
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    }
  };
  before(async () => {
    dataDir = await createDataDir();
    await write(made);
    // The certificate that agents trust is copied, so that replacing the gateway's file does not change it.
    const trusted = join(dataDir, "trusted.pem");
    await writeFile(trusted, `${made.cert}\n${ofPlane.cert}`);
    await writeFile(join(dataDir, "api.pem"), made.cert);
    const [cert, key] = files();
    const plane = { PLANE_TLS_CERT: join(dataDir, "plane-cert.pem"), PLANE_TLS_KEY: join(dataDir, "plane-key.pem") };
    await writeFile(plane.PLANE_TLS_CERT, ofPlane.cert);
    await writeFile(plane.PLANE_TLS_KEY, ofPlane.key);
    const env = { TLS_CERT: cert, TLS_KEY: key, ...plane, NODE_EXTRA_CA_CERTS: trusted };
    platform = await startPlatform(dataDir, FLAGS, env);
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const ask = (path: string, { method = "POST", body, headers = {}, on }: Asked, agent: Agent) =>
    new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
      const all = { authorization: `Bearer ${platform.ready.api_key}`, "content-type": "application/json", ...headers };
      const asked = request(`${platform.ready.gateway_url}${path}`, { method, headers: all, agent }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
          on?.(piece);
        });
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
        answer.on("error", reject);
      });
      asked.on("error", reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const fresh = (ca: string): Agent => new Agent({ ca, keepAlive: false });
  const stream = (orders: object) => ({
    body: {
      model: "tiny-3b",
      stream: true,
      messages: [{ role: "user", content: `#script ${JSON.stringify(orders)}` }],
    },
  });

  test("the API serves TLS, its URLs begin with https, and its cookies are Secure", async () => {
    assert.match(platform.ready.gateway_url, /^https:/);
    const root = await ask("/", { method: "GET", headers: { accept: "application/json" } }, fresh(made.cert));
    assert.match(root.text, new RegExp(`"${platform.ready.gateway_url}`));
    assert.equal(root.headers["strict-transport-security"], undefined, "its name is not known: no PUBLIC_URL");
    const body = platform.ready.builder;
    const origin = { origin: platform.ready.gateway_url };
    const signedIn = await ask("/console/api/auth/sign-in/email", { body, headers: origin }, fresh(made.cert));
    assert.equal(signedIn.status, 200, signedIn.text);
    assert.match(String(signedIn.headers["set-cookie"]), /; *Secure/i);
  });

  test("a renewed certificate applies to new connections, running streams continue, and a broken certificate is ignored", async () => {
    let pieces = 0;
    const running = ask(
      "/v1/chat/completions",
      { ...stream({ tokens: 400, delta_ms: 50 }), on: () => (pieces += 1) },
      fresh(made.cert),
    );
    let isOver = false;
    void running.finally(() => {
      isOver = true;
    });
    await eventually("the stream has begun", () => pieces > 1);
    const renewed = selfSignedCertificate();
    await write(renewed);
    const models = (ca: string) => ask("/v1/models", { method: "GET" }, fresh(ca)).then(({ status }) => status);
    await eventually("the new certificate is served", async () => (await models(renewed.cert).catch(() => 0)) === 200);
    await assert.rejects(models(made.cert), /certificate/);
    const sofar = pieces;
    // On a slow machine the stream may already have ended. Its end is checked below.
    await eventually("the stream goes on", () => pieces > sofar || isOver);

    await write({ cert: "broken", key: "broken" });
    await eventually("the log says so", async () =>
      (await readFile(join(dataDir, "gateway.log"), "utf8")).includes(
        "certificate file is invalid; keeping the previous certificate",
      ),
    );
    assert.equal(await models(renewed.cert), 200);
    const { status, text } = await running;
    assert.equal(status, 200);
    assert.match(text, /data: \[DONE\]\n\n$/);
    // Restores the first certificate, because the local agent trusts only that.
    await write(made);
    await eventually("the first one is back", async () => (await models(made.cert).catch(() => 0)) === 200);
  });

  test("the embedded hub serves only nodes that trust its certificate", async () => {
    const { gateway_url: gatewayUrl, host_token: hostToken } = platform.ready;
    const headers = { authorization: `Bearer ${hostToken}` };
    const nodes = await ask("/node/v1/nodes", { method: "GET", headers }, fresh(made.cert));
    const path = `/node/v1/nodes/${JSON.parse(nodes.text).data[0].id}/credentials`;
    assert.match(JSON.parse((await ask(path, { headers }, fresh(made.cert))).text).plane_url, /^tls:/);
    const { status } = await ask("/v1/chat/completions", stream({ text: "under cover" }), fresh(made.cert));
    assert.equal(status, 200);
    // The agent trusts the API's certificate, so it gets as far as the plane.
    await assertDistrusts({ gatewayUrl, hostToken, directory: dataDir }, join(dataDir, "api.pem"));
  });

  test("an unusable certificate stops the start, and the error names it", async () => {
    const [, key] = files();
    for (const [env, words] of [
      [{ TLS_CERT: join(dataDir, "none.pem"), TLS_KEY: key }, /TLS_CERT: .*none\.pem cannot be read \(ENOENT\)/],
      [{ PLANE_TLS_CERT: key, PLANE_TLS_KEY: key }, /PLANE_TLS_CERT: .*key\.pem is not a PEM certificate/],
    ] as [Record<string, string>, RegExp][]) {
      const run = runTollgate(["serve"], { DATA_DIR: dataDir, PORT: "0", ...env });
      assert.equal(await run.ended, 1, run.output());
      assert.match(run.output(), words);
    }
  });
});

test("a NATS server with TLS serves only gateways and nodes that trust its certificate", {
  skip: skipWithoutNats,
}, async () => {
  const directory = await createDataDir();
  const [cert, key] = [join(directory, "cert.pem"), join(directory, "key.pem")];
  const made = selfSignedCertificate();
  await writeFile(cert, made.cert);
  await writeFile(key, made.key);
  const nats = await openNats({ scheme: "tls", tls: { cert, key } });
  const env = { ...NO_QUARANTINE_OR_PROBATION_ENV, ...nats.env, NODE_EXTRA_CA_CERTS: cert };
  const stage = await openStage({ as: "processes", env });
  const host = await stage.host();
  const agents = { gatewayUrl: stage.baseUrl, hostToken: host.token, directory };
  const trusting = agentOf(agents, "trusting", cert);
  try {
    const { id } = await enrolNode(stage, host, { name: "asks", models: ["tiny-3b"] });
    assert.match((await fetchCredentials(stage, host, id)).url, /^tls:/);
    const { key: apiKey } = await stage.builder();
    await trusting.start();
    const prompt = `#script ${JSON.stringify({ text: "under cover" })}`;
    const serves = async () => (await askOverHttp(stage, apiKey, { model: "tiny-3b", prompt })).status === 200;
    await eventually("the node serves", serves);
    await assertDistrusts(agents);
  } finally {
    await trusting.kill();
    await stage.close();
    await nats.close();
    await removeDataDir(directory);
  }
});
