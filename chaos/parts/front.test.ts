import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { type Front, openFront } from "./front.ts";
import { until } from "./processes.ts";

/** A server that says back what it hears, after its name. */
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

function dial(t: TestContext, front: Front) {
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

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 150));

test("a front leads to whom it is told, swallows, refuses, and heals", async (t) => {
  const [one, two] = [await echo(t, "one"), await echo(t, "two")];
  const front = await openFront(one);
  t.after(() => front.close());
  const first = dial(t, front);
  first.socket.write("a");
  await until("an answer", 5000, async () => first.heard === "one a");

  front.swallow();
  first.socket.write("b");
  const second = dial(t, front);
  second.socket.write("c");
  await pause();
  assert.deepEqual([first.heard, second.heard, first.ended, second.ended], ["one a", "", "", ""]);
  await front.heal();
  await until("both go on", 5000, async () => first.heard === "one aone b" && second.heard === "one c");

  // What dies behind a black hole is not heard of before it is healed.
  front.swallow();
  for (const socket of one.sockets) socket.resetAndDestroy();
  await pause();
  assert.deepEqual([first.ended, second.ended], ["", ""]);
  await front.heal();
  await until("both are told", 5000, async () => first.ended === "ECONNRESET" && second.ended === "ECONNRESET");

  const third = dial(t, front);
  third.socket.write("d");
  await until("an answer", 5000, async () => third.heard === "one d");
  front.leadTo(two.port);
  await until("the old way ends", 5000, async () => third.ended === "ECONNRESET");
  const fourth = dial(t, front);
  fourth.socket.write("e");
  await until("the new way", 5000, async () => fourth.heard === "two e");

  await front.refuse();
  await until("reset", 5000, async () => fourth.ended === "ECONNRESET");
  const fifth = dial(t, front);
  await until("refused", 5000, async () => fifth.ended === "ECONNREFUSED");
  await front.heal();
  const sixth = dial(t, front);
  sixth.socket.write("f");
  await until("an answer again", 5000, async () => sixth.heard === "two f");
});
