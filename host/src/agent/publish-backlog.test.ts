import assert from "node:assert/strict";
import { test } from "node:test";
import { waitOneTurn } from "../clock.ts";
import { AgentHarness } from "../testing/agent-harness.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { BACKLOG_BYTES_MAX, PublishBacklog } from "./publish-backlog.ts";

const MIB = 1024 * 1024;

test("the backlog check asks the broker for a confirmation after each MiB, and accepts a broker that confirms", async () => {
  let asked = 0;
  const clock = new ManualClock();
  const backlog = new PublishBacklog(
    async () => {
      asked++;
    },
    () => assert.fail("too much"),
  );
  for (let i = 0; i < 100; i++) {
    backlog.published(MIB);
    await waitOneTurn(clock);
  }
  assert.equal(asked, 100);
  backlog.published(1000);
  assert.equal(asked, 100);
});

test("the backlog check reports a broker that confirms nothing, once the backlog exceeds its limit", () => {
  let gaveUp = 0;
  const backlog = new PublishBacklog(
    () => new Promise(() => {}),
    () => gaveUp++,
  );
  for (let sent = 0; sent + MIB <= BACKLOG_BYTES_MAX; sent += MIB) backlog.published(MIB);
  assert.equal(gaveUp, 0);
  backlog.published(MIB);
  assert.equal(gaveUp, 1);
});

test("the agent disconnects from a broker that does not read, and reconnects", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const [connection] = harness.plane.connections;
  assert.ok(connection);
  connection.flush = () => new Promise(() => {});
  // Two jobs, each with vectors of 8 MiB plus the frames around them, exceed the limit of 16 MiB.
  for (let i = 0; i < 2; i++) harness.offer({ input: Array.from({ length: 2048 }, (_, n) => `text ${n}`) });
  while (harness.statuses.at(-1)?.type !== "offline") await waitOneTurn(harness.clock);
  harness.clock.advance(100);
  while (harness.statuses.at(-1)?.type !== "online") await waitOneTurn(harness.clock);
  assert.equal(harness.plane.connections.length, 2);
  await harness.agent.stop();
});
