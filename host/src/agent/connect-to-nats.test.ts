import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { unusedAddress } from "../testing/stub-http.ts";
import { NATS_USER_SEED, type StubNats, stubNats } from "../testing/stub-nats.ts";
import { connectToNats } from "./connect-to-nats.ts";
import { type PlaneConnection, PlaneRefusal } from "./plane-connection.ts";

const credentials = (url: string) => ({ url, jwt: "jwt-1", seed: NATS_USER_SEED, expiresAt: 0 });

async function connected(t: TestContext): Promise<{ nats: StubNats; connection: PlaneConnection }> {
  const nats = await stubNats(t);
  const connection = await connectToNats(credentials(nats.url), "node_x");
  t.after(() => connection.close());
  return { nats, connection };
}

test("the connection sends and receives frames unchanged", async (t) => {
  const { nats, connection } = await connected(t);
  assert.deepEqual(nats.names, ["node_x"]);
  const got = Promise.withResolvers<Uint8Array>();
  connection.subscribe("tg.n.node_x", (payload) => got.resolve(payload));
  connection.publish("tg.s.node_x", Buffer.from("\x00\xffstate", "latin1"));
  await connection.flush();
  assert.deepEqual(nats.published, [{ subject: "tg.s.node_x", text: "\x00\xffstate" }]);
  nats.deliver("tg.n.node_x", "\x01\xfe\r\n!");
  assert.equal(Buffer.from(await got.promise).toString("latin1"), "\x01\xfe\r\n!");
});

test("the connection distinguishes refused credentials from an unreachable server", async (t) => {
  const nats = await stubNats(t);
  nats.refused.add("jwt-1");
  await assert.rejects(connectToNats(credentials(nats.url), "node_x"), PlaneRefusal);
  const dead = (await unusedAddress()).replace("http", "nats");
  await assert.rejects(connectToNats(credentials(dead), "node_x"), (error) => !(error instanceof PlaneRefusal));
});

test("the connection uses the first of several servers that responds", async (t) => {
  const nats = await stubNats(t);
  const dead = (await unusedAddress()).replace("http", "nats");
  const connection = await connectToNats(credentials(`${dead},${nats.url}`), "node_x");
  t.after(() => connection.close());
  assert.deepEqual(nats.names, ["node_x"]);
});

test("the connection requires TLS when the address asks for it, and never sends credentials unencrypted", async (t) => {
  const nats = await stubNats(t);
  await assert.rejects(connectToNats(credentials(nats.url.replace("nats://", "tls://")), "node_x"), /tls/);
  assert.deepEqual(nats.names, []);
});

test("the connection does not reconnect by itself when the server ends it", async (t) => {
  const { nats, connection } = await connected(t);
  for (const socket of nats.clients) socket.destroy();
  await connection.closed;
  connection.publish("tg.s.node_x", Buffer.from("late"));
  assert.deepEqual([nats.published, nats.names], [[], ["node_x"]]);
});

test("the connection reports credentials as refused when they expire or are revoked while it is open", async (t) => {
  for (const reason of ["User Authentication Expired", "Authorization Violation", "User Authentication Revoked"]) {
    const { nats, connection } = await connected(t);
    for (const socket of nats.clients) socket.end(`-ERR '${reason}'\r\n`);
    assert.ok((await connection.closed) instanceof PlaneRefusal, reason);
  }
});

test("closing the connection reports no error", async (t) => {
  const { connection } = await connected(t);
  await connection.close();
  assert.equal(await connection.closed, undefined);
});
