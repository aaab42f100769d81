/** Tests requests to URLs that users chose: the allowed addresses, and how much of a response is read. */
import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { manualClock } from "../base/testing.ts";
import { AddressRefused, createWebhookPoster } from "./post-webhook.ts";
import { createAddressRule, isPublicAddress } from "./webhook-addresses.ts";

const clock = manualClock();
const here = { allows: createAddressRule({ allowLoopback: true }), allowsHttp: true, clock };
const parts = { headers: { "x-test": "1" }, body: '{"a":1}' };

async function serve(t: TestContext, listener: RequestListener): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

/** A resolver that returns this address for every name. */
const leadsTo =
  (...addresses: string[]) =>
  (_host: string, _options: object, done: (error: null, found: LookupAddress[]) => void): void =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );

test("the webhook client posts JSON and returns the status", async (t) => {
  let seen = "";
  const { port, requests } = await serve(t, async (request, response) => {
    for await (const piece of request) seen += piece;
    seen += ` ${request.headers["content-type"]} ${request.headers["x-test"]}`;
    response.writeHead(202).end("ok");
  });
  assert.equal(await createWebhookPoster(here)(`http://127.0.0.1:${port}/hook`, parts), 202);
  assert.deepEqual(requests, ["POST /hook"]);
  assert.equal(seen, '{"a":1} application/json 1');
});

describe("the webhook client connects only to public addresses", () => {
  for (const addresses of [
    ["127.0.0.1"],
    ["::1"],
    ["::ffff:127.0.0.1"],
    ["10.0.0.1"],
    ["169.254.169.254"],
    ["fe80::1"],
    ["224.0.0.1"],
    // A private address beside a public one, because a connection tries all addresses of a name.
    ["8.8.8.8", "127.0.0.1"],
    [],
  ]) {
    test(`refuses a name that resolves to ${addresses.join(" and ") || "nothing"}`, async (t) => {
      const { port, requests } = await serve(t, (_, response) => void response.end());
      const post = createWebhookPoster({
        allows: isPublicAddress,
        allowsHttp: true,
        clock,
        lookUp: leadsTo(...addresses),
      });
      await assert.rejects(post(`http://hooks.example.com:${port}/`, parts), AddressRefused);
      assert.deepEqual(requests, []);
    });
  }

  test("checks IP addresses in URLs without a DNS query", async (t) => {
    const { port, requests } = await serve(t, (_, response) => void response.end());
    const post = createWebhookPoster({ allows: isPublicAddress, allowsHttp: true, clock });
    for (const host of ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0.0.0.0"])
      await assert.rejects(post(`http://${host}:${port}/`, parts), AddressRefused, host);
    assert.deepEqual(requests, []);
  });

  test("connects to the checked address, even if the name later resolves differently", async (t) => {
    const { port, requests } = await serve(t, (_, response) => void response.end());
    const answers = ["127.0.0.1", "10.0.0.1"];
    let asked = 0;
    const lookUp = (...args: Parameters<ReturnType<typeof leadsTo>>): void =>
      leadsTo(answers[Math.min(asked++, 1)] as string)(...args);
    assert.equal(await createWebhookPoster({ ...here, lookUp })(`http://rebinding.example.com:${port}/`, parts), 200);
    assert.equal(asked, 1, "nothing is looked up between check and connection");
    await assert.rejects(
      createWebhookPoster({ ...here, lookUp })(`http://rebinding.example.com:${port}/`, parts),
      AddressRefused,
    );
    assert.equal(requests.length, 1);
  });

  test("refuses http outside of development", async () => {
    const post = createWebhookPoster({ allows: isPublicAddress, allowsHttp: false, clock, lookUp: leadsTo("8.8.8.8") });
    await assert.rejects(post("http://hooks.example.com/", parts), /must use https/);
  });
});

test("the webhook client returns a redirect like any other response, without following it", async (t) => {
  const { port, requests } = await serve(t, (_, response) => {
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  assert.equal(await createWebhookPoster(here)(`http://127.0.0.1:${port}/hook`, parts), 307);
  assert.deepEqual(requests, ["POST /hook"]);
});

test("the webhook client reads at most 64 KiB of an endless response", async (t) => {
  const { port } = await serve(t, (_, response) => {
    const more = (): void => {
      while (response.write("x".repeat(16 * 1024)));
      response.once("drain", more);
    };
    more();
  });
  await assert.rejects(createWebhookPoster(here)(`http://127.0.0.1:${port}/`, parts), /larger than 64 KiB/);
});

test("the webhook client times out after 10 s, even if the response has begun", async (t) => {
  for (const begins of [false, true]) {
    let arrived = (): void => {};
    const has = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const { port } = await serve(t, (_, response) => {
      if (begins) response.writeHead(200).write("{");
      arrived();
    });
    const posting = createWebhookPoster(here)(`http://127.0.0.1:${port}/`, parts);
    const refused = assert.rejects(posting, /no complete response within 10 s/);
    await has;
    clock.advance(10_000);
    await refused;
  }
});

test("the webhook client throws when the connection closes without a response", async (t) => {
  const server = createSocketServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  await assert.rejects(createWebhookPoster(here)(`http://127.0.0.1:${port}/`, parts));
});
