/** API and console under TLS: a certificate that is renewed while a stream runs, secure cookies, and mistakes at the start. */
import assert from "node:assert/strict";
import { readFile, rename, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { newDataDir, type Platform, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { selfSignedCertificate } from "../gateway/src/plane/hub/testing-certificate.ts";

const FLAGS = ["--engine", "scripted", "--models", "tiny-3b"];

interface Asked {
  method?: string;
  body?: object;
  headers?: Record<string, string>;
  /** Called with every piece of the answer. */
  on?: (piece: string) => void;
}

describe("the API under TLS", () => {
  let dataDir: string;
  let platform: Platform;
  const made = selfSignedCertificate();
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
    dataDir = await newDataDir();
    await write(made);
    // The local agent goes on with its own copy of what it trusts.
    const trusted = join(dataDir, "trusted.pem");
    await writeFile(trusted, made.cert);
    const [cert, key] = files();
    const env = { TLS_CERT: cert, TLS_KEY: key, NODE_EXTRA_CA_CERTS: trusted };
    platform = await startPlatform(dataDir, FLAGS, env);
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const ask = (path: string, { method = "POST", body, headers = {}, on }: Asked, agent: Agent) =>
    new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
      const all = { authorization: `Bearer ${platform.ready.api_key}`, "content-type": "application/json", ...headers };
      const asked = request(`${platform.ready.base_url}${path}`, { method, headers: all, agent }, (answer) => {
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

  test("it serves, tells its address by https, and its cookies are secure", async () => {
    assert.match(platform.ready.base_url, /^https:/);
    const root = await ask("/", { method: "GET", headers: { accept: "application/json" } }, fresh(made.cert));
    assert.match(root.text, new RegExp(`"${platform.ready.base_url}`));
    assert.equal(root.headers["strict-transport-security"], undefined, "its name is not known: no PUBLIC_URL");
    const body = platform.ready.builder;
    const origin = { origin: platform.ready.base_url };
    const signedIn = await ask("/console/api/auth/sign-in/email", { body, headers: origin }, fresh(made.cert));
    assert.equal(signedIn.status, 200, signedIn.text);
    assert.match(String(signedIn.headers["set-cookie"]), /; *Secure/i);
  });

  test("a renewal reaches new connections and leaves a stream that runs alone; a broken one changes nothing", async () => {
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
    // On a slow machine it may have ended meanwhile; how is looked at below.
    await eventually("the stream goes on", () => pieces > sofar || isOver);

    await write({ cert: "broken", key: "broken" });
    await eventually("the log says so", async () =>
      (await readFile(join(dataDir, "gateway.log"), "utf8")).includes(
        "the certificate in the files cannot be used; the one before stays",
      ),
    );
    assert.equal(await models(renewed.cert), 200);
    const { status, text } = await running;
    assert.equal(status, 200);
    assert.match(text, /data: \[DONE\]\n\n$/);
    // The local agent trusts the first one.
    await write(made);
    await eventually("the first one is back", async () => (await models(made.cert).catch(() => 0)) === 200);
  });

  test("a certificate that cannot be used stops the start and is named", async () => {
    const [cert, key] = files();
    const none = join(dataDir, "none.pem");
    for (const [env, words] of [
      [{ TLS_CERT: none, TLS_KEY: key }, /TLS_CERT: .*none\.pem cannot be read \(ENOENT\)/],
      [{ TLS_CERT: key, TLS_KEY: key }, /TLS_CERT: .*key\.pem is no certificate in PEM/],
      [{ TLS_KEY: key }, /TLS_CERT and TLS_KEY must be set together/],
      [{ TLS_CERT: cert, TLS_KEY: key, PUBLIC_URL: "http://a.test" }, /PUBLIC_URL must begin with https:/],
    ] as [Record<string, string>, RegExp][]) {
      const run = tollgate(["serve"], { DATA_DIR: dataDir, ...env });
      assert.equal(await run.ended, 1, run.output());
      assert.match(run.output(), words);
    }
  });
});
