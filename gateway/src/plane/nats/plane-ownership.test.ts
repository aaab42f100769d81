/**
 * Tests the owner of a plane on NATS: the servers store it, gateways that start at once agree on it, and other writes
 * keep it.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Clock } from "../../base/clock.ts";
import { manualClock } from "../../base/testing.ts";
import { DEPLOYMENTS_SUBJECT } from "../gateway-subjects.ts";
import { connectClient } from "../hub/testing-hub.ts";
import type { DispatchPlane, PlaneOwnership } from "../plane.ts";
import { type NatsServer, openTestPlane, skipWithoutNats, startNatsServer } from "./testing-nats-server.ts";

/** How long a gateway that claimed the plane waits before it checks for a claim of another gateway. */
const CLAIMED_AFTER_MS = 500;

describe("ownership of a NATS plane", { skip: skipWithoutNats }, () => {
  let server: NatsServer;
  beforeEach(async () => {
    server = await startNatsServer();
  });
  afterEach(async () => {
    await server.kill();
    await server.remove();
  });

  const open = async (t: TestContext, clock?: Clock): Promise<DispatchPlane & { ownership: PlaneOwnership }> => {
    const plane = await openTestPlane(t, server, { ...(clock !== undefined && { clock }) });
    assert.ok(plane.ownership !== undefined);
    return plane as DispatchPlane & { ownership: PlaneOwnership };
  };

  test("is claimed by all gateways of one deployment, and survives restarts of gateways and server", async (t) => {
    const planes = [await open(t), await open(t), await open(t)];
    assert.equal(await planes[0]?.ownership.owner(), undefined);
    assert.deepEqual(await Promise.all(planes.map(({ ownership }) => ownership.claim("one"))), ["one", "one", "one"]);
    for (const plane of planes) await plane.close();
    await server.kill();
    await server.start();
    const later = await open(t);
    assert.deepEqual([await later.ownership.owner(), await later.ownership.claim("two")], ["one", "one"]);
  });

  test("is assigned to one of two deployments that start at once, and both learn which one", async (t) => {
    const time = manualClock(Date.now());
    let timers = 0;
    const waiting = (): number => timers;
    const clock: Clock = {
      ...time,
      after(delayMs, task) {
        timers++;
        return time.after(delayMs, () => {
          timers--;
          task();
        });
      },
    };
    const planes = [await open(t, clock), await open(t, clock)];
    const claims = planes.map(({ ownership }, i) => ownership.claim(`deployment ${i}`));
    let settled = 0;
    for (const claim of claims) void claim.then(() => settled++);
    // Waits until each gateway has written its claim and pauses, or has learned the owner.
    await eventually("each has written its claim, or knows the owner", () => settled + waiting() === planes.length);
    time.advance(CLAIMED_AFTER_MS);
    const owners = await Promise.all(claims);
    assert.equal(owners[0], owners[1]);
  });

  test("can be taken after a check for running gateways: the plane reports which subjects have subscribers", async (t) => {
    const [gateway, command] = [await open(t), await open(t)];
    assert.equal(await command.hasSubscribers?.(DEPLOYMENTS_SUBJECT), false);
    const unsubscribe = gateway.subscribe(DEPLOYMENTS_SUBJECT, () => {});
    // The question is sent on the connection that subscribed, so the server has registered the subscription by then.
    assert.equal(await gateway.hasSubscribers?.(DEPLOYMENTS_SUBJECT), true);
    assert.equal(await command.hasSubscribers?.(DEPLOYMENTS_SUBJECT), true);
    unsubscribe();
    assert.equal(await gateway.hasSubscribers?.(DEPLOYMENTS_SUBJECT), false);
    assert.equal(await command.hasSubscribers?.(DEPLOYMENTS_SUBJECT), false);
  });

  test("is kept along with every revocation when several gateways write at once", async (t) => {
    const planes = [await open(t), await open(t)];
    const old = await Promise.all(["n1", "n2", "n3", "n4"].map((node) => (planes[0] as DispatchPlane).mint(node)));
    const revoking = ["n1", "n2", "n3", "n4"].map((node, i) => (planes[i % 2] as DispatchPlane).revoke(node));
    const claiming = planes.map(({ ownership }) => ownership.claim("one"));
    assert.deepEqual(await Promise.all(claiming), ["one", "one"]);
    await Promise.all(revoking);
    const [first] = planes;
    await first?.revoke("n5");
    assert.equal(await first?.ownership.owner(), "one");
    // If another gateway overwrote a revocation, the gateway that made it writes it again a few seconds later.
    for (const credentials of old) {
      await eventually("the credential is refused", () =>
        connectClient(t, credentials).then(
          (client) => client.close().then(() => false),
          (error: Error) => /Authorization Violation/.test(error.message),
        ),
      );
    }
  });

  test("can be taken over by another deployment", async (t) => {
    const [before, after] = [await open(t), await open(t)];
    await before.ownership.claim("lost");
    await after.ownership.take("found");
    await before.revoke("n1");
    assert.equal(await after.ownership.owner(), "found", "a gateway that wrote since leaves it so");
  });

  test("cannot be read while the servers are unreachable", async (t) => {
    const plane = await open(t);
    await server.kill();
    await assert.rejects(plane.ownership.owner());
    await assert.rejects(plane.ownership.claim("one"));
  });
});
