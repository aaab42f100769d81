/**
 * Tests current and older versions of the clients that builders use against a whole platform, all at the same time,
 * each with its own accounts. Known flaws of clients are asserted too, so that the pages in docs/builders stay true.
 * `npm run clients` checks more.
 */
import { after, before, describe, type TestContext, test } from "node:test";
import { CLIENT_CHECKS } from "./client-checks.ts";
import type { Client } from "./client-interface.ts";
import { type AccountsForClientTests, type ClientPlatform, openClientPlatform } from "./client-platform.ts";
import { PROGRAMS } from "./programs.ts";

/** The clients that this test includes, loaded. */
const driven = await Promise.all(
  PROGRAMS.filter(({ inTests }) => inTests).map(async (program) => ({
    ...program,
    client: (await program.load()) as Client | { missing: string },
  })),
);
const here = driven.filter(({ client }) => !("missing" in client));

describe("the clients that builders use", { concurrency: true }, () => {
  let worlds: ClientPlatform | undefined;
  before(async () => {
    if (here.length > 0) worlds = await openClientPlatform();
  });
  after(async () => {
    for (const { client } of driven) if (!("missing" in client)) await client.close?.();
    await worlds?.end();
  });

  for (const { name, version, traits, client } of driven) {
    const missing = "missing" in client ? client.missing : undefined;
    describe(`${name} ${version}`, { skip: missing, concurrency: 1 }, () => {
      let world: AccountsForClientTests;
      before(async () => {
        world = (await worlds?.open()) as AccountsForClientTests;
      });
      for (const { name: what, check } of CLIENT_CHECKS) {
        test(what, async (t: TestContext) => {
          const reason = await check({ client: client as Client, traits, world, note: (text) => t.diagnostic(text) });
          if (reason !== undefined) t.diagnostic(`no: ${reason}`);
        });
      }
    });
  }
});
