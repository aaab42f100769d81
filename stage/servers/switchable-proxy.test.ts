import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { eventually } from "../wait.ts";
import { openSwitchableProxy, type SwitchableProxy } from "./switchable-proxy.ts";

/** Starts a server that sends back its input, preceded by its name. */
async function echo(t: TestContext, name: string): Promise<{ port: number; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => socket.write(`${name} ${data}`));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

function dial(t: TestContext, front: SwitchableProxy) {
  const socket = connect({ host: "127.0.0.1", port: front.port });
  const client = { socket, heard: "", ended: "" };
  socket.on("data", (data) => {
    client.heard += data;
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    client.ended = error.code ?? "error";
  });
  t.after(() => socket.destroy());
  return client;
}

/**
 * Waits until the server has received all data sent so far: bytes sent later through a separate proxy have come back.
 */
async function fence(t: TestContext, port: number): Promise<void> {
  const front = await openSwitchableProxy({ port });
  const client = dial(t, front);
  client.socket.write("fence");
  await eventually("the fence is back", () => client.heard.endsWith("fence"));
  await front.close();
}

test("the switchable proxy forwards to the configured server, holds data back, refuses connections, and recovers", async (t) => {
  const [one, two] = [await echo(t, "one"), await echo(t, "two")];
  const front = await openSwitchableProxy(one);
  t.after(() => front.close());
  const first = dial(t, front);
  first.socket.write("a");
  await eventually("an answer", () => first.heard === "one a");

  front.swallow();
  first.socket.write("b");
  const second = dial(t, front);
  second.socket.write("c");
  await fence(t, one.port);
  assert.deepEqual([first.heard, second.heard, first.ended, second.ended], ["one a", "", "", ""]);
  await front.heal();
  await eventually("both go on", () => first.heard === "one aone b" && second.heard === "one c");

  // While the proxy holds data back, the client does not notice that the server closed; it does after `heal`.
  front.swallow();
  for (const socket of one.sockets) socket.resetAndDestroy();
  await fence(t, one.port);
  assert.deepEqual([first.ended, second.ended], ["", ""]);
  await front.heal();
  await eventually("both connections are reset", () => first.ended === "ECONNRESET" && second.ended === "ECONNRESET");

  const third = dial(t, front);
  third.socket.write("d");
  await eventually("an answer", () => third.heard === "one d");
  front.leadTo(two.port);
  await eventually("the old way ends", () => third.ended === "ECONNRESET");
  const fourth = dial(t, front);
  fourth.socket.write("e");
  await eventually("the new way", () => fourth.heard === "two e");

  await front.refuse();
  await eventually("reset", () => fourth.ended === "ECONNRESET");
  const fifth = dial(t, front);
  await eventually("refused", () => fifth.ended === "ECONNREFUSED");
  await front.heal();
  const sixth = dial(t, front);
  sixth.socket.write("f");
  await eventually("an answer again", () => sixth.heard === "two f");
});
