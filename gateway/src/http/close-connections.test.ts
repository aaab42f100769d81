import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { connect as connectSecurely, Server as TlsServer } from "node:tls";
import { eventually } from "@tollgate/stage/wait.ts";
import type { FastifyInstance } from "fastify";
import { type ManualClock, manualClock, waitOneTurn } from "../base/testing.ts";
import { selfSignedCertificate } from "../plane/hub/testing-certificate.ts";
import { makeTestHttpOptions } from "../routes/testing/http-options.ts";
import { streamResponse } from "./run-handlers.ts";
import { createServerWithoutRoutes } from "./server.ts";

const QUIET_MS = 1_000;
const ASK = "GET /now HTTP/1.1\r\nhost: x\r\n\r\n";

interface Opened {
  app: FastifyInstance;
  clock: ManualClock;
  /**
   * Completes the pending response of `GET /later`, whose headers are already sent, or of `GET /whole`, of which
   * nothing is sent.
   */
  finish: () => void;
}

const certificate = selfSignedCertificate();
const underTls = { certificate: { current: () => certificate, onRenewal: () => {}, stop: () => {} } };

async function open(t: TestContext, listener = {}): Promise<Opened> {
  const clock = manualClock();
  const app = createServerWithoutRoutes(makeTestHttpOptions({ clock }), listener);
  const finishing = Promise.withResolvers<void>();
  app.get("/now", async () => ({ is: "now" }));
  app.get("/whole", async () => {
    await finishing.promise;
    return { is: "whole" };
  });
  app.get("/later", (request, reply) =>
    streamResponse(request, reply, async ({ reply: stream }) => {
      stream.openStream();
      await finishing.promise;
      stream.event("later");
      stream.endStream();
    }),
  );
  await app.listen({ port: 0, host: "127.0.0.1" });
  t.after(() => app.server.closeAllConnections());
  return { app, clock, finish: finishing.resolve };
}

interface Client {
  socket: Socket;
  text: () => string;
  /** Resolves once the client has received this number of response headers. */
  told: (answers: number) => Promise<void>;
  closed: Promise<void>;
  /** The server's socket of this connection. */
  peer: Socket;
}

async function client(t: TestContext, { app }: Opened): Promise<Client> {
  const isSecure = app.server instanceof TlsServer;
  const accepted = once(app.server, isSecure ? "secureConnection" : "connection");
  const at = { port: (app.server.address() as AddressInfo).port, host: "127.0.0.1" };
  const socket = isSecure ? connectSecurely({ ...at, ca: certificate.cert }) : connect(at);
  let text = "";
  socket.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  t.after(() => socket.destroy());
  const [[peer]] = await Promise.all([accepted, once(socket, isSecure ? "secureConnect" : "connect")]);
  const told = async (answers: number): Promise<void> => {
    await eventually(`${answers} answers`, () => text.split("HTTP/1.1 200 ").length > answers);
  };
  return { socket, text: () => text, told, closed, peer };
}

const connectionHeaders = (text: string): string[] =>
  [...text.matchAll(/\r\nconnection: (\S+)\r\n/gi)].map(([, value]) => value as string);

for (const [name, listener] of [
  ["plain", {}],
  ["under TLS", underTls],
] as const) {
  describe(`a server that drains its connections, ${name}`, () => {
    test("refuses new connections, and answers a request on an open one with Connection: close", async (t) => {
      const opened = await open(t, listener);
      const { socket, text, told, closed } = await client(t, opened);
      socket.write(ASK);
      await told(1);
      const { port } = opened.app.server.address() as AddressInfo;
      const left = opened.app.connections.leave(QUIET_MS);
      const [refused] = await once(connect({ port, host: "127.0.0.1" }), "error");
      assert.equal(refused.code, "ECONNREFUSED");
      socket.write(ASK);
      await told(2);
      await Promise.all([closed, left]);
      assert.deepEqual(connectionHeaders(text()), ["keep-alive", "close"]);
    });

    test("adds Connection: close to a pending answer whose headers are not sent yet", async (t) => {
      const opened = await open(t, listener);
      const { socket, text, closed } = await client(t, opened);
      const asked = once(opened.app.server, "request");
      socket.write("GET /whole HTTP/1.1\r\nhost: x\r\n\r\n");
      await asked;
      const left = opened.app.connections.leave(QUIET_MS);
      opened.finish();
      await Promise.all([closed, left]);
      assert.deepEqual(connectionHeaders(text()), ["close"]);
    });

    test("keeps idle connections open for the grace period, even if they never sent a request", async (t) => {
      const opened = await open(t, listener);
      const [used, fresh] = [await client(t, opened), await client(t, opened)];
      used.socket.write(ASK);
      await used.told(1);
      const left = opened.app.connections.leave(QUIET_MS);
      opened.clock.advance(QUIET_MS - 1);
      await waitOneTurn();
      // Sends a request in the last moment of the grace period.
      used.socket.write(ASK);
      await used.told(2);
      opened.clock.advance(1);
      await Promise.all([used.closed, fresh.closed, left]);
      assert.equal(fresh.text(), "");
    });

    test("answers a request that arrived before the end of the grace period, even if it was not read yet", async (t) => {
      const opened = await open(t, listener);
      const [{ socket, told, closed, peer }, other] = [await client(t, opened), await client(t, opened)];
      const left = opened.app.connections.leave(QUIET_MS);
      peer.pause();
      socket.write(ASK);
      // The other connection's request was sent later. Once it is answered, this request has arrived at the server's
      // socket.
      other.socket.write(ASK);
      await other.told(1);
      await waitOneTurn();
      peer.resume();
      opened.clock.advance(QUIET_MS);
      await told(1);
      await Promise.all([closed, left]);
    });

    test("waits for the rest of a request that arrived in part", async (t) => {
      const opened = await open(t, listener);
      const { socket, text, told, closed, peer } = await client(t, opened);
      const left = opened.app.connections.leave(QUIET_MS);
      const before = peer.bytesRead;
      socket.write("GET /now HTTP/1.1\r\nho");
      await eventually("the server has read it", () => peer.bytesRead > before);
      opened.clock.advance(QUIET_MS);
      await waitOneTurn();
      socket.write("st: x\r\n\r\n");
      await told(1);
      await Promise.all([closed, left]);
      assert.deepEqual(connectionHeaders(text()), ["close"]);
    });

    test("keeps a connection open for the grace period after an answer that was sent with keep-alive", async (t) => {
      const opened = await open(t, listener);
      const { socket, text, told, closed } = await client(t, opened);
      socket.write("GET /later HTTP/1.1\r\nhost: x\r\n\r\n");
      await told(1);
      const left = opened.app.connections.leave(QUIET_MS);
      opened.clock.advance(10 * QUIET_MS);
      opened.finish();
      await eventually("the answer has ended", () => text().includes("later"));
      socket.write(ASK);
      await told(2);
      await Promise.all([closed, left]);
      assert.deepEqual(connectionHeaders(text()), ["keep-alive", "close"]);
    });

    test("closes idle connections immediately when closing without draining", async (t) => {
      const opened = await open(t, listener);
      const [used, fresh] = [await client(t, opened), await client(t, opened)];
      used.socket.write(ASK);
      await used.told(1);
      await Promise.all([opened.app.close(), used.closed, fresh.closed]);
    });
  });
}

test("the stopping server closes a connection that has not completed its TLS handshake", async (t) => {
  const opened = await open(t, underTls);
  const accepted = once(opened.app.server, "connection");
  const silent = connect({ port: (opened.app.server.address() as AddressInfo).port, host: "127.0.0.1" });
  t.after(() => silent.destroy());
  await Promise.all([accepted, once(silent, "connect")]);
  const closed = once(silent.resume(), "close");
  const left = opened.app.connections.leave(QUIET_MS);
  opened.clock.advance(QUIET_MS);
  await Promise.all([left, closed]);
});

test("the TLS server closes a connection that does not speak TLS, and serves other connections", async (t) => {
  const opened = await open(t, underTls);
  const silent = connect({ port: (opened.app.server.address() as AddressInfo).port, host: "127.0.0.1" });
  silent.write(ASK);
  await once(silent.resume(), "close");
  const { socket, told } = await client(t, opened);
  socket.write(ASK);
  await told(1);
  await opened.app.close();
});

test("the TLS server answers a client that half-closed its connection after the request", async (t) => {
  const opened = await open(t, underTls);
  const { socket, text, closed } = await client(t, opened);
  socket.end("GET /whole HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(opened.app.server, "request");
  opened.finish();
  await closed;
  assert.match(text(), /"whole"/);
  await opened.app.close();
});
