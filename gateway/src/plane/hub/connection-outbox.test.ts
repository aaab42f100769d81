import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { waitOneTurn } from "../../base/testing.ts";
import { ConnectionOutbox } from "./connection-outbox.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Two ends of a TCP connection. The far end reads nothing until the test calls for it. */
async function pair(t: TestContext): Promise<{ near: Socket; far: Socket }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const far = connect({ port, host: "127.0.0.1" });
  far.pause();
  const [near] = (await once(server, "connection")) as [Socket];
  t.after(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return { near, far };
}

/** Fills the kernel's buffers, so that the socket cannot send more. */
async function clog(near: Socket): Promise<void> {
  const block = Buffer.alloc(1024 * 1024);
  do {
    near.write(block);
    await waitOneTurn();
  } while (near.writableLength < block.length);
}

test("the outbox counts small unread replies at about their real memory cost", async (t) => {
  const { near } = await pair(t);
  await clog(near);
  const outbox = new ConnectionOutbox(near, 32 * 1024 * 1024);
  const start = outbox.cost;
  const heap = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = heap();
  let lines = 0;
  while (outbox.line("PONG")) if (++lines % 1000 === 0) await waitOneTurn();
  const counted = outbox.cost - start;
  const taken = heap() - before;
  assert.ok(taken < 1.5 * counted, `${lines} lines were counted as ${counted} bytes and took ${taken}`);
});

test("the outbox delivers lines and messages complete and in order, even to a reader that pauses", async (t) => {
  const { near, far } = await pair(t);
  const outbox = new ConnectionOutbox(near, 64 * 1024 * 1024);
  const payload = Buffer.alloc(300_000, "p");
  let due = "";
  for (let i = 0; i < 40; i++) {
    assert.ok(outbox.line(`LINE ${i}`));
    assert.ok(outbox.message(`MSG ${i}`, payload));
    due += `LINE ${i}\r\nMSG ${i}\r\n${payload}\r\n`;
    if (i % 7 === 0) await waitOneTurn();
  }

  outbox.finish();
  near.end("END\r\n");
  due += "END\r\n";
  let heard = "";
  far.setEncoding("latin1").on("data", (text) => {
    heard += text;
  });
  far.resume();
  await once(far, "end");
  assert.equal(heard.length, due.length);
  assert.ok(heard === due, "in order");
});
