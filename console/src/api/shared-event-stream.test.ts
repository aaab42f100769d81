import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { openSharedEventStream } from "./shared-event-stream.ts";

/** Serves an event stream, and opens pages that share it. */
async function openServer(t: TestContext, status = 200) {
  const streams = new Set<ServerResponse>();
  const server = createServer((_, response) => {
    response.writeHead(status, { "content-type": "text/event-stream" });
    if (status !== 200) return response.end();
    streams.add(response);
    response.on("close", () => streams.delete(response));
    return response.flushHeaders();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/live`;
  const openPage = (owner = "Ada") => {
    const seen: string[] = [];
    const leave = openSharedEventStream({
      owner,
      url,
      headers: { account: "acc_1" },
      on: ({ event, data }) => seen.push(`${event} ${data}`),
      onState: (open) => seen.push(open ? "open" : "closed"),
      onRefused: (code) => seen.push(`refused ${code}`),
    });
    t.after(leave);
    return { seen, leave, saw: (text: string) => eventually(text, () => seen.includes(text)) };
  };
  const send = (event: string, data: string): void => {
    for (const stream of streams) stream.write(`event: ${event}\ndata: ${data}\n\n`);
  };
  return { streams, openPage, send };
}

test("pages of one browser share a connection, and a page that opens later gets the latest events", async (t) => {
  const { streams, openPage, send } = await openServer(t);
  const [first, second] = [openPage(), openPage()];
  await Promise.all([first.saw("open"), second.saw("open")]);
  assert.equal(streams.size, 1);
  send("balance", "1");
  send("balance", "2");
  send("requests", "7");
  await Promise.all([first.saw("requests 7"), second.saw("requests 7")]);
  const third = openPage();
  await third.saw("requests 7");
  assert.deepEqual(third.seen, ["open", "balance 2", "requests 7"]);
  for (const { seen } of [first, second]) assert.deepEqual(seen, ["open", "balance 1", "balance 2", "requests 7"]);
  assert.equal(streams.size, 1);
});

test("when the page that reads the stream closes, another page opens the stream", async (t) => {
  const { streams, openPage, send } = await openServer(t);
  const reader = openPage();
  await reader.saw("open");
  const other = openPage();
  await other.saw("open");
  reader.leave();
  await eventually("another connection is open", () => streams.size === 1 && other.seen.length > 1);
  send("balance", "3");
  await other.saw("balance 3");
  assert.deepEqual([reader.seen, other.seen], [["open"], ["open", "open", "balance 3"]]);
});

test("pages of two persons do not share a stream, so nobody sees the events of the person who used the browser before", async (t) => {
  const { streams, openPage, send } = await openServer(t);
  const before = openPage("Ada");
  await before.saw("open");
  send("balance", "1");
  await before.saw("balance 1");
  const now = openPage("Grace");
  await now.saw("open");
  assert.equal(streams.size, 2);
  assert.deepEqual(now.seen, ["open"]);
});

test("a page that closes while another one reads the stream leaves that stream open", async (t) => {
  const { streams, openPage, send } = await openServer(t);
  const reader = openPage();
  const other = openPage();
  await other.saw("open");
  other.leave();
  send("balance", "4");
  await reader.saw("balance 4");
  assert.equal(streams.size, 1);
  assert.equal(other.seen.includes("balance 4"), false);
});

test("all pages learn that the gateway refuses the stream, also one that opens later", async (t) => {
  const { openPage } = await openServer(t, 401);
  const pages = [openPage(), openPage()];
  for (const page of pages) await page.saw("refused 401");
  await openPage().saw("refused 401");
});

test("a page that leaves before the browser grants it the lock does not keep the lock", async (t) => {
  const { streams, openPage } = await openServer(t);
  const { locks } = navigator;
  const { promise: hasLeft, resolve: leaves } = Promise.withResolvers<void>();
  // Chromium grants a page's first lock even if the page aborts the request meanwhile.
  const grantLate = (name: string, _: LockOptions, granted: LockGrantedCallback<void>) =>
    hasLeft.then(() => locks.request(name, granted));
  t.mock.method(locks, "request", grantLate, { times: 1 });
  const left = openPage();
  left.leave();
  leaves();
  await hasLeft;
  const page = openPage();
  await page.saw("open");
  assert.equal(streams.size, 1);
  assert.deepEqual(left.seen, []);
});
