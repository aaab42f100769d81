import assert from "node:assert/strict";
import { Duplex, duplexPair } from "node:stream";
import { test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock as clock } from "./clock.ts";
import {
  ChannelError,
  type ChannelMessage,
  LOWEST_FREE_MESSAGE_KIND,
  ProcessMessageChannel,
} from "./process-message-channel.ts";

const TOLD = LOWEST_FREE_MESSAGE_KIND;
const ASKED = LOWEST_FREE_MESSAGE_KIND + 1;

function pair(): [ProcessMessageChannel, ProcessMessageChannel] {
  const [one, other] = duplexPair();
  return [new ProcessMessageChannel(one, { clock }), new ProcessMessageChannel(other, { clock })];
}

test("a channel delivers messages of every size complete and in order", async () => {
  const [one, other] = pair();
  const heard: ChannelMessage[] = [];
  other.on(TOLD, (message) => heard.push(message));
  const sizes = [0, 1, 7_999, 8_192, 70_000, 3, 5_000_000, 0];
  for (const [number, size] of sizes.entries()) {
    const bytes = Buffer.alloc(size, number);
    // Every other message is sent in two parts.
    const parts = number % 2 === 0 ? { bytes } : { bytes: bytes.subarray(0, size / 3), rest: bytes.subarray(size / 3) };
    one.tell(TOLD, { number, text: `é${"x".repeat(number)}`, ...parts });
  }
  await eventually("all arrive", () => heard.length === sizes.length);
  for (const [number, size] of sizes.entries()) {
    assert.equal(heard[number]?.number, number);
    assert.equal(heard[number]?.text, `é${"x".repeat(number)}`);
    assert.ok(heard[number]?.bytes.equals(Buffer.alloc(size, number)), `message ${number}`);
  }
});

test("a channel reads complete messages from chunks of any size", async () => {
  const [raw, sent] = [new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() }), [] as Buffer[]];
  const catcher = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      sent.push(chunk);
      done();
    },
  });
  const writer = new ProcessMessageChannel(catcher, { clock });
  for (let number = 0; number < 20; number++) writer.tell(TOLD, { number, text: "abc", bytes: Buffer.alloc(number) });
  await eventually("they are written", () => sent.length > 0);
  const heard: number[] = [];
  new ProcessMessageChannel(raw, { clock }).on(TOLD, ({ number, bytes }) => heard.push(number, bytes.length));
  for (const byte of Buffer.concat(sent)) raw.push(Buffer.from([byte]));
  await eventually("all arrive", () => heard.length === 40);
  assert.deepEqual(heard, Array.from({ length: 20 }, (_, i) => [i, i]).flat());
});

test("a channel between processes returns each request's own reply (text or bytes), or the handler's error", async () => {
  const [one, other] = pair();
  other.answer(ASKED, async ({ text }) => {
    if (text === "fail") throw new Error("no such thing");
    return text === "bytes" ? Buffer.from([1, 2]) : `${text}!`;
  });
  const [a, b, failed] = await Promise.allSettled([
    one.ask(ASKED, "a"),
    one.ask(ASKED, "bytes"),
    one.ask(ASKED, "fail"),
  ]);
  assert.equal(a?.status === "fulfilled" && a.value.text, "a!");
  assert.deepEqual(b?.status === "fulfilled" && [...b.value.bytes], [1, 2]);
  assert.ok(failed?.status === "rejected" && failed.reason instanceof ChannelError);
  assert.equal(failed.reason.message, "no such thing");
});

test("a channel between processes rejects pending and later requests when the other process has exited", async () => {
  const [one, other] = pair();
  other.answer(ASKED, () => new Promise(() => {}));
  const waiting = one.ask(ASKED, "a");
  other.close();
  await assert.rejects(waiting, ChannelError);
  await one.closed;
  await assert.rejects(one.ask(ASKED, "b"), ChannelError);
  one.tell(TOLD, { text: "to nobody" });
});

test("a channel closes when the reader leaves too much data waiting", async () => {
  const stuck = new Duplex({ read() {}, write() {} });
  const channel = new ProcessMessageChannel(stuck, { clock, waitingBytesMax: 1_000_000 });
  for (let i = 0; i < 20; i++) channel.tell(TOLD, { bytes: Buffer.alloc(100_000) });
  await channel.closed;
});
