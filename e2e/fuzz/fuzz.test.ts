/**
 * Sends handwritten and random requests, which no client library would send, to a whole platform. Timeouts are tested
 * in gateway/src/http/server.test.ts.
 */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { eventually, hangSignal } from "@tollgate/stage/wait.ts";
import { type ExpectedResponse, NOT_HTTP, type ReceivedResponse } from "./expected-response.ts";
import { findMistakes } from "./find-answer-mistakes.ts";
import { createEmptyTally, formatTally, runCampaign } from "./fuzz-campaign.ts";
import { FUZZ_API_KEY } from "./fuzz-case.ts";
import { assertPlatformUnharmed, type FuzzPlatform, openFuzzPlatform } from "./fuzz-platform.ts";
import { parseHttpResponses } from "./parse-http-responses.ts";
import { sendOverNewSocket } from "./send-over-new-socket.ts";

const MEBIBYTE = 1024 * 1024;
const BODY = JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: "hello" }], max_tokens: 5 });
const SERVED: ExpectedResponse = { status: 200, answer: "chat", model: "tiny-3b", outputTokensMax: 5 };
const TOO_LARGE: ExpectedResponse = { status: 413, code: "request_too_large" };
/** The minimum number of other requests that are answered while a large body is refused. */
const MEANWHILE = 20;

const REQUESTS = 3_000;
const CONCURRENCY = 16;

const head = (...headers: string[]): string =>
  ["POST /v1/chat/completions HTTP/1.1", "host: x", `authorization: Bearer ${FUZZ_API_KEY}`, ...headers, "", ""].join(
    "\r\n",
  );
const sized = (body: string): string => `content-length: ${Buffer.byteLength(body)}`;
const chunked = (body: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`${Buffer.byteLength(body).toString(16)}\r\n`),
    Buffer.from(body),
    Buffer.from("\r\n0\r\n\r\n"),
  ]);

describe("the gateway under malformed and random requests", () => {
  let fuzzed: FuzzPlatform;
  /** The number of complete answers in the random run. */
  let served = 0;
  before(async () => {
    fuzzed = await openFuzzPlatform();
  });
  after(async () => {
    try {
      if (fuzzed !== undefined) await assertPlatformUnharmed(fuzzed.stage, served);
    } finally {
      await fuzzed?.close();
    }
  });

  /** Sends the pieces and asserts that the only response is the expected one. */
  const expectAnswer = async (
    expected: ExpectedResponse,
    ...pieces: (string | Buffer)[]
  ): Promise<ReceivedResponse> => {
    const [answer, ...more] = await sendOverNewSocket(fuzzed.target, {
      via: "socket",
      pieces: pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)),
      afterwards: "listen",
      answers: [[expected]],
    });
    assert.ok(answer, "there is an answer");
    assert.deepEqual(findMistakes(answer, [expected]), [], answer.text);
    assert.equal(more.length, 0, "there is one answer");
    return answer;
  };
  const post = (body: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${fuzzed.target.port}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${fuzzed.target.key}` },
      body,
    });

  for (const [name, ...headers] of [
    ["two different lengths", sized(BODY), "content-length: 3"],
    ["two equal lengths", sized(BODY), sized(BODY)],
    ["a list of lengths", `content-length: ${BODY.length}, ${BODY.length}`],
    ["a length together with chunked encoding", sized(BODY), "transfer-encoding: chunked"],
    ["chunked encoding together with a length", "transfer-encoding: chunked", sized(BODY)],
    ["a transfer encoding that does not end in chunked", "transfer-encoding: chunked, identity"],
    ["a negative length", "content-length: -1"],
    ["an invalid length", "content-length: 0x10"],
  ] as const) {
    test(`returns 400 for ${name}, and closes the connection`, async () => {
      const answer = await expectAnswer(NOT_HTTP, head(...headers), BODY);
      assert.equal(answer.headers.connection, "close");
    });
  }

  test("reads a body only to its declared length, and refuses the bytes after it as a malformed request", async () => {
    const large = JSON.stringify({ ...JSON.parse(BODY), metadata: "x".repeat(MEBIBYTE) });
    const pieces = [Buffer.from(head("content-length: 20") + large)];
    const answers = [[NOT_HTTP]];
    const got = await sendOverNewSocket(fuzzed.target, {
      via: "socket",
      pieces,
      afterwards: "listen",
      answers,
      last: [NOT_HTTP],
    });
    assert.ok(got.length === 1 || got.length === 2, `${got.length} answers`);
    for (const answer of got) assert.deepEqual(findMistakes(answer, [NOT_HTTP]), []);
  });

  test("sends a 413 to a client that never stops sending, and closes the connection", async () => {
    const socket = connect({ port: fuzzed.target.port, host: "127.0.0.1" });
    socket.on("error", () => socket.destroy());
    const received: Buffer[] = [];
    socket.on("data", (bytes) => received.push(bytes));
    const chunk = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(MEBIBYTE, 0x20), Buffer.from("\r\n")]);
    const pump = (): void => {
      while (!socket.destroyed && socket.write(chunk)) {}
    };
    socket.on("drain", pump);
    socket.write(head("transfer-encoding: chunked").replace(FUZZ_API_KEY, fuzzed.target.key));
    pump();
    await new Promise((resolve) => socket.once("close", resolve));
    const [answer] = parseHttpResponses(Buffer.concat(received)).answers;
    assert.ok(answer, "it was answered");
    assert.deepEqual(findMistakes(answer, [TOO_LARGE]), []);
  });

  test("refuses a declared length above the limit before the body arrives", async () => {
    await expectAnswer(TOO_LARGE, head(`content-length: ${10 * MEBIBYTE + 1}`));
  });

  test("returns 415 for compressed bodies and compressed transfer encodings", async () => {
    await expectAnswer(
      { status: 415 },
      head("content-encoding: gzip", "transfer-encoding: chunked"),
      chunked(gzipSync(BODY)),
    );
    await expectAnswer(
      { status: 415 },
      head("content-encoding: br", "transfer-encoding: chunked"),
      chunked(brotliCompressSync(BODY)),
    );
    await expectAnswer({ status: 415 }, head("transfer-encoding: gzip, chunked"), chunked(gzipSync(BODY)));
    await expectAnswer(SERVED, head("content-encoding: identity", sized(BODY)), BODY);
  });

  test("returns 400 for bytes that are not UTF-8, without naming a field", async () => {
    const [before, behind] = BODY.split("hello") as [string, string];
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf0, 0x9f]]) {
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(behind)]);
      await expectAnswer(NOT_HTTP, head(`content-length: ${body.length}`), body);
    }
  });

  test("sends 100 Continue to a client that expects it", async () => {
    const socket = connect({ port: fuzzed.target.port, host: "127.0.0.1" });
    let received = "";
    const until = (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => (received.includes(text) ? resolve() : undefined);
        socket.on("data", look).once("close", () => reject(new Error(`closed before ${text}: ${received}`)));
        look();
      });
    socket.setEncoding("latin1").on("data", (text: string) => {
      received += text;
    });
    socket.write(head("expect: 100-continue", sized(BODY)).replace(FUZZ_API_KEY, fuzzed.target.key));
    await until("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write(BODY);
    await until('"usage"');
    const [answer] = parseHttpResponses(Buffer.from(received, "latin1")).answers;
    assert.ok(answer);
    assert.deepEqual(findMistakes(answer, [SERVED]), []);
    socket.destroy();
  });

  test("answers a client that has closed only its sending side of the connection, streamed or not", async () => {
    const slow = { text: "one two three four", ttft_ms: 300 };
    for (const stream of [false, true]) {
      const content = `#script ${JSON.stringify(slow)}`;
      const body = JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content }], max_tokens: 9, stream });
      const expected: ExpectedResponse = {
        ...SERVED,
        outputTokensMax: 9,
        ...(stream && { answer: "chat-stream", usage: false }),
      };
      const [answer, ...more] = await sendOverNewSocket(fuzzed.target, {
        via: "socket",
        pieces: [Buffer.from(head(sized(body)) + body)],
        afterwards: "end",
        answers: [[expected]],
      });
      assert.ok(answer, "there is an answer");
      assert.deepEqual(findMistakes(answer, [expected]), [], answer.text);
      assert.equal(more.length, 0);
    }
  });

  test("detects that a client disconnects during a request that is not streamed, and cancels the job on the node", async () => {
    const content = `#script ${JSON.stringify({ tokens: 100_000, delta_ms: 50 })}`;
    const body = JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content }], max_tokens: 8_000 });
    const count = async (): Promise<number> =>
      (await fuzzed.stage.query("select id from request where outcome = 'client_closed'")).length;
    const before = await count();
    const socket = connect({ port: fuzzed.target.port, host: "127.0.0.1" });
    socket.write(head(sized(body)).replace(FUZZ_API_KEY, fuzzed.target.key) + body);
    await eventually("it is held", async () => (await fuzzed.stage.query("select id from hold")).length > 0);
    socket.destroy();
    await eventually("it is settled", async () => (await count()) === before + 1);
  });

  const messages = (message: string, count: number): string =>
    `{"model":"tiny-3b","messages":[${Array(count).fill(message).join(",")}]}`;
  for (const [name, body] of [
    ["a million nested arrays", "[".repeat(1e6)],
    ["a million nested objects", '{"messages":'.repeat(8e5)],
    ["five million elements", `[${"1,".repeat(5e6 - 1)}1]`],
    ["five million messages", `{"model":"tiny-3b","messages":[${"1,".repeat(5e6 - 100)}1]}`],
    ["five million invalid parts", messages(`{"role":"user","content":[${"1,".repeat(32_000)}1]}`, 150)],
    ["three million parts without a type", messages(`{"role":"user","content":[${"{},".repeat(22_000)}{}]}`, 150)],
    [
      "five million tool calls",
      messages(`{"role":"assistant","content":"x","tool_calls":[${"1,".repeat(5e6 - 100)}1]}`, 1),
    ],
    ["a million fields", `{${Array.from({ length: 1e6 }, (_, i) => `"${i.toString(36)}":1`).join(",")}}`],
  ] as const) {
    test(`returns 400 for a body with ${name}, and answers other requests meanwhile`, async () => {
      assert.ok(body.length < 10 * MEBIBYTE, "it is not refused for its length");
      let over = false;
      const refused = post(body).finally(() => {
        over = true;
      });
      // Sends requests until the large body is refused, so that some of them arrive while it is processed.
      for (let served = 0; served < MEANWHILE || !over; served++) {
        const rates = `http://127.0.0.1:${fuzzed.target.port}/v1/catalog/rates`;
        assert.equal((await fetch(rates, { signal: hangSignal() })).status, 200);
      }
      const response = await refused;
      assert.equal(response.status, 400);
      assert.match(await response.text(), /must not (be nested deeper|contain more)/);
    });
  }

  test(`answers ${REQUESTS} random hostile requests with the expected errors`, async () => {
    // Every run uses a new seed. `run.ts` can repeat it.
    const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`fuzz: seed ${seed}`);
    const tally = createEmptyTally();
    const run = { target: fuzzed.target, seed, from: 0, to: REQUESTS, concurrency: CONCURRENCY };
    await runCampaign({ ...run, onFinding: ({ text }) => console.log(text), onProgress: () => {} }, tally);
    console.log(formatTally(tally));
    assert.equal(tally.findings.length, 0, `seed ${seed}: ${tally.findings.map(({ index }) => index)}`);
    assert.equal(tally.requests, REQUESTS);
    served = tally.served;
    assert.ok(served > REQUESTS / 10, `only ${served} were served`);
  });
});
