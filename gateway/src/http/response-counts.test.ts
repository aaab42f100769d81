/** The public port counts each response once under its declared route, and each error under its code. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { test } from "node:test";
import { fault } from "../faults.ts";
import { makeTestHttpOptions } from "../routes/testing/http-options.ts";
import { streamResponse } from "./run-handlers.ts";
import { createServerWithoutRoutes } from "./server.ts";
import { answerUnknownPaths } from "./unknown-paths.ts";

test("the server counts responses by method, route and status, with 499 for disconnected clients and no route for malformed requests", async (t) => {
  const answers: string[] = [];
  const refusals: string[] = [];
  let counted = Promise.withResolvers<void>();
  const app = createServerWithoutRoutes(
    makeTestHttpOptions({
      watch: {
        answered({ method, route, status }) {
          answers.push(`${method} ${route} ${status}`);
          counted.resolve();
        },
        refused: ({ code, type, status }) => void refusals.push(`${code ?? type} ${status}`),
      },
    }),
  );
  const finish = answerUnknownPaths(app);
  const asked = Promise.withResolvers<void>();
  app.get("/things/:id", async () => ({ a: 1 }));
  app.get("/stream", (request, reply) =>
    streamResponse(request, reply, ({ reply: to }) => {
      to.openStream();
      to.event("one");
      to.endStream();
    }),
  );
  app.post("/refuses", (request, reply) =>
    streamResponse(request, reply, () => {
      throw fault("insufficient_credits");
    }),
  );
  app.direct.set("/direct", () => {
    throw fault("hold_exceeds_balance");
  });
  app.get("/never", (request, reply) =>
    streamResponse(request, reply, ({ cancelSignal }) => {
      asked.resolve();
      return new Promise((resolve) => cancelSignal.addEventListener("abort", () => resolve()));
    }),
  );
  finish();
  await app.listen({ port: 0, host: "127.0.0.1" });
  t.after(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const at = `http://127.0.0.1:${port}`;
  const next = async (act: () => Promise<unknown>): Promise<void> => {
    counted = Promise.withResolvers();
    await act();
    await counted.promise;
  };
  const ask = (path: string, method = "GET") => next(async () => (await fetch(at + path, { method })).text());
  await ask("/things/one?secret=1");
  await ask("/things/two");
  await ask("/stream");
  await ask("/refuses", "POST");
  await ask("/direct", "POST");
  await ask("/nowhere/at/all");
  await ask("/things/one", "DELETE");
  await ask("/%zz");
  await next(async () => {
    const leaving = new AbortController();
    const left = fetch(`${at}/never`, { signal: leaving.signal }).catch(() => undefined);
    await asked.promise;
    leaving.abort();
    await left;
  });
  await next(async () => {
    const socket = connect(port, "127.0.0.1");
    socket.end("no HTTP at all\r\n\r\n");
    socket.resume();
    await once(socket, "close");
  });
  assert.deepEqual(answers, [
    "GET /things/:id 200",
    "GET /things/:id 200",
    "GET /stream 200",
    "POST /refuses 402",
    "POST /direct 402",
    "GET  404",
    "DELETE  405",
    "GET  404",
    "GET /never 499",
    "  400",
  ]);
  assert.deepEqual(refusals, [
    "insufficient_credits 402",
    "hold_exceeds_balance 402",
    "not_found_error 404",
    "invalid_request_error 405",
    "not_found_error 404",
  ]);
});
