/** Request bodies of the console and of the node API have a maximum size, with or without a declared length. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../base/ids.ts";
import { manualClock, waitOneTurn } from "../base/testing.ts";
import { Browser } from "../routes/testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../routes/testing/platform.ts";
import { BODY_BYTES_MAX, FORM_VALUES_MAX, UNAUTHENTICATED_BODY_BYTES_MAX } from "./request-body.ts";

let platform: TestPlatform;
let node: string;
let session: Record<string, string>;
let token: Record<string, string>;
before(async () => {
  platform = await openTestPlatform();
  const { identityId, accountIds } = await platform.person([{ kind: "host" }]);
  const [host] = accountIds as [Uuid];
  node = publicId("node", (await platform.parts.fleet.register(host, { name: "barn", hardware: {}, agent: "" })).id);
  token = { authorization: `Bearer ${(await platform.parts.hostTokens.issue(host, "a token")).token}` };
  const browser = new Browser(platform);
  await browser.enter(platform, identityId);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  session = { cookie, host: "console.test", "sec-fetch-site": "same-origin" };
});
after(() => platform.close());

const forms = () =>
  [
    ["PUT", `/console/api/nodes/${node}/elections`, session],
    ["POST", "/console/api/host-tokens", session],
    ["PUT", `/node/v1/nodes/${node}/elections`, token],
    ["POST", "/node/v1/nodes", token],
    ["POST", `/node/v1/nodes/${node}/try`, token],
  ] as const;

/** JSON of exactly this length. The field `filler` pads it, and every route ignores that field. */
const body = (bytes: number): string => {
  const fields = { models: ["tiny-3b"], name: "a name", model: "tiny-3b", filler: "" };
  return JSON.stringify({ ...fields, filler: "x".repeat(bytes - JSON.stringify(fields).length) });
};

test("a body without credentials is accepted up to 64 KiB; a longer one is refused with 413", async () => {
  const strangers = { host: "console.test", "sec-fetch-site": "same-origin" };
  for (const path of ["sign-in/email", "sign-up/email", "sign-in/code", "reset-password", "verify-email"]) {
    const url = `/console/api/auth/${path}`;
    for (const payload of [
      body(UNAUTHENTICATED_BODY_BYTES_MAX + 1),
      Readable.from([Buffer.from(body(UNAUTHENTICATED_BODY_BYTES_MAX + 1))]),
    ]) {
      const refused = await platform.app.inject({ method: "POST", url, headers: strangers, payload });
      assert.deepEqual(
        [refused.statusCode, refused.json().error.message],
        [413, "The request body is larger than 64 KiB."],
      );
    }
    const read = await platform.app.inject({
      method: "POST",
      url,
      headers: strangers,
      payload: body(UNAUTHENTICATED_BODY_BYTES_MAX),
    });
    assert.equal(read.statusCode, 400, url);
  }
});

test("a request without a session or token returns 401 before its body is read", async () => {
  for (const [method, url, headers] of forms()) {
    const { cookie: _, authorization: __, ...nobody } = headers as Record<string, string>;
    const answer = await platform.app.inject({ method, url, headers: nobody, payload: body(BODY_BYTES_MAX + 1) });
    assert.equal(answer.statusCode, 401, url);
  }
});

test("a form with too many values is refused, whether it is small or large", async () => {
  const [method, url, headers] = forms()[0] as readonly [string, string, Record<string, string>];
  for (const filler of ["", "x".repeat(UNAUTHENTICATED_BODY_BYTES_MAX)]) {
    const payload = JSON.stringify({ models: Array(FORM_VALUES_MAX).fill(0), filler });
    const answer = await platform.app.inject({ method: method as "PUT", url, headers, payload });
    assert.deepEqual(
      [answer.statusCode, answer.json().error.message],
      [400, `The body must not contain more than ${FORM_VALUES_MAX} values.`],
    );
  }
});

describe("a body above the size limit gets 413", () => {
  for (const [how, payload] of [
    ["declared", (bytes: number) => body(bytes)],
    ["chunked, without a length", (bytes: number) => Readable.from([Buffer.from(body(bytes))])],
  ] as const) {
    test(`at one byte above the limit, and not at the limit itself: ${how}`, async () => {
      for (const [method, url, headers] of forms()) {
        const send = (bytes: number) => platform.app.inject({ method, url, headers, payload: payload(bytes) });
        assert.notEqual((await send(BODY_BYTES_MAX)).statusCode, 413, url);
        const refused = await send(BODY_BYTES_MAX + 1);
        assert.equal(refused.statusCode, 413, url);
        const { code, message } = refused.json().error;
        assert.deepEqual([code, message], ["request_too_large", "The request body is larger than 10 MiB."], url);
      }
    });
  }
});

test("when a body stops arriving, each route returns a 408 that it declares", async () => {
  const clock = manualClock();
  const app = platform.serve({ door: { ...platform.parts.door, clock } });
  for (const [method, url, headers] of forms()) {
    let answer: { statusCode: number; payload: string } | undefined;
    const payload = new Readable({ read() {} });
    payload.push("{");
    const asked = app.inject({ method, url, headers, payload }).then((response) => {
      answer = response;
    });
    for (; answer === undefined; await waitOneTurn()) clock.advance(1_000);
    await asked;
    assert.equal(answer.statusCode, 408, `${url}: ${answer.payload}`);
  }
});
