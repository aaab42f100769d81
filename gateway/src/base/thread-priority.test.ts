import assert from "node:assert/strict";
import { once } from "node:events";
import { getPriority } from "node:os";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

const PROGRAM = `
  import { getPriority } from "node:os";
  import { parentPort } from "node:worker_threads";
  import { lowerThreadPriority } from ${JSON.stringify(new URL("./thread-priority.ts", import.meta.url).href)};
  lowerThreadPriority();
  parentPort.postMessage(getPriority());
`;

test("the priority of a worker thread is lowered, and the event loop's stays unchanged", {
  skip: process.platform !== "linux",
}, async () => {
  const before = getPriority();
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`));
  const [priority] = await once(worker, "message");
  assert.equal(priority, 10);
  assert.equal(getPriority(), before);
});
