/** The plane under TLS, with a certificate that only those trust who were told to (NODE_EXTRA_CA_CERTS). */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { newDataDir, type Platform, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import { openNats, skipWithoutNats } from "@tollgate/stage/plane.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { selfSignedCertificate } from "../gateway/src/plane/hub/testing-certificate.ts";

const HOST_AGENT = fileURLToPath(new URL("../host/bin/tollgate-host.mjs", import.meta.url));
const FLAGS = ["--engine", "scripted", "--models", "tiny-3b"];

describe("a plane under TLS", () => {
  let dataDir: string;
  let cert: string;
  let key: string;
  before(async () => {
    dataDir = await newDataDir();
    [cert, key] = [join(dataDir, "cert.pem"), join(dataDir, "key.pem")];
    const made = selfSignedCertificate();
    await writeFile(cert, made.cert);
    await writeFile(key, made.key);
  });
  after(() => removeDataDir(dataDir));

  const planeUrl = async ({ ready }: Platform): Promise<string> => {
    const headers = { authorization: `Bearer ${ready.host_token}` };
    const list = await fetch(`${ready.base_url}/node/v1/nodes`, { headers });
    const { data } = (await list.json()) as { data: { id: string }[] };
    const path = `/node/v1/nodes/${data[0]?.id}/credentials`;
    const response = await fetch(ready.base_url + path, { method: "POST", headers });
    return ((await response.json()) as { plane_url: string }).plane_url;
  };
  /** What an agent says that was not told to trust the certificate, up to the words that are waited for. */
  const distrustful = async ({ ready }: Platform, words: RegExp): Promise<void> => {
    const args = ["up", "--gateway", ready.base_url, "--name", "wary", ...FLAGS];
    const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
    const agent = spawn(process.execPath, [HOST_AGENT, ...args], {
      env: { ...env, TOLLGATE_HOST_TOKEN: ready.host_token },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [agent.stdout, agent.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    }
    try {
      await eventually(`it says ${words}`, () => words.test(said));
      assert.doesNotMatch(said, /online {3}waiting/);
    } finally {
      const ended = once(agent, "exit");
      agent.kill("SIGKILL");
      await ended;
    }
  };

  test("the embedded hub serves nodes that trust its certificate, and no others", async () => {
    const env = { PLANE_TLS_CERT: cert, PLANE_TLS_KEY: key, NODE_EXTRA_CA_CERTS: cert };
    const platform = await startPlatform(dataDir, FLAGS, env);
    try {
      assert.match(await planeUrl(platform), /^tls:/);
      assert.equal((await chat(platform, { text: "under cover" })).status, 200);
      await distrustful(platform, /certificate/i);
    } finally {
      assert.equal(await platform.stop(), 0);
    }
  });

  test("so does a NATS server, gateways included", { skip: skipWithoutNats }, async () => {
    const nats = await openNats({ scheme: "tls", tls: { cert, key } });
    const platform = await startPlatform(dataDir, FLAGS, { ...nats.env, NODE_EXTRA_CA_CERTS: cert });
    try {
      assert.match(await planeUrl(platform), /^tls:/);
      assert.equal((await chat(platform, { text: "under cover" })).status, 200);
      await distrustful(platform, /certificate/i);
    } finally {
      assert.equal(await platform.stop(), 0);
      await nats.close();
    }
  });

  test("a certificate that cannot be read stops the start and is named", async () => {
    const none = join(dataDir, "none.pem");
    for (const [env, words] of [
      [{ PLANE_TLS_CERT: none, PLANE_TLS_KEY: key }, /PLANE_TLS_CERT: .*none\.pem cannot be read/],
      [{ PLANE_TLS_CERT: key, PLANE_TLS_KEY: key }, /PLANE_TLS_CERT: .*key\.pem is no certificate in PEM/],
      [{ PLANE_TLS_CERT: cert }, /PLANE_TLS_CERT and PLANE_TLS_KEY must be set together/],
    ] as [Record<string, string>, RegExp][]) {
      const run = tollgate(["dev", "--port", "0", "--data", dataDir, ...FLAGS], env);
      assert.equal(await run.ended, 1, run.output());
      assert.match(run.output(), words);
    }
  });
});
