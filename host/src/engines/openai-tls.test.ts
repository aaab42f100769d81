/** Tests an engine behind HTTPS: certificates are verified and connections are reused. */
import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { setDefaultCACertificates } from "node:tls";
import { selfSignedCertificate } from "../../../gateway/src/plane/hub/testing-certificate.ts";
import { systemClock } from "../clock.ts";
import { chatJob, RecordingSink } from "../testing/recording-sink.ts";
import { openAiEngine } from "./openai-engine.ts";

test("the agent sends jobs to an engine over HTTPS only if it trusts the certificate, and reuses the connection", async (t) => {
  const made = selfSignedCertificate();
  const sockets = new Set<unknown>();
  const server = createServer({ cert: made.cert, key: made.key }, (request, response) => {
    sockets.add(request.socket);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const content of ["a", "b"])
      response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const models = new Map([["tiny-3b", "tiny"]]);
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const engine = openAiEngine({ name: "stub", url, models, clock: systemClock });
  const ask = async (): Promise<string> => {
    const sink = new RecordingSink();
    await engine.generate(chatJob("x"), sink, new AbortController().signal);
    return sink.text("answer");
  };
  await assert.rejects(ask(), /does not respond/);
  assert.equal(sockets.size, 0);
  setDefaultCACertificates([made.cert]);
  for (let i = 0; i < 3; i++) assert.equal(await ask(), "ab");
  assert.equal(sockets.size, 1);
});
