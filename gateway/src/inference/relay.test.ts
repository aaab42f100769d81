import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pico } from "../base/money.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { Meter } from "../metering/meter.ts";
import { Relay } from "./relay.ts";

/** One token a character. */
const meter: Meter = {
  tokenizer: "characters",
  tokenizerSha256: "",
  countPrompt: async () => ({ tokens: 1, over: null }),
  openOutput() {
    const tokens = { answer: 0, reasoning: 0 };
    return {
      full: false,
      push(channel, text) {
        tokens[channel] += text.length;
        return text;
      },
      end: () => ({ answerTokens: tokens.answer, reasoningTokens: tokens.reasoning }),
    };
  },
};

function model(thinks: boolean): ActiveModel {
  const reasoning = thinks ? { reasoning: { open: "<think>", close: "</think>" } } : {};
  return {
    id: "m",
    kind: "generation",
    contextLimit: 100,
    prices: { in: pico(1n), out: pico(1n) },
    priceVersion: 1,
    build: { id: "b", tokenizer: "characters", vector_width: 2, ...reasoning },
    admissionMax: undefined,
    speedMax: 1000,
    canaries: [],
  };
}

function relayOf({ thinks = false, vectorsDue = 0 } = {}) {
  const events: string[] = [];
  const reply = {
    event: (data: string) => void events.push(data),
    json() {},
    setHeaders() {},
    openStream() {},
    endStream() {},
  };
  const writer = { open: () => null, delta: (text: string) => text, finish: () => "", usage: () => "" };
  const stream = { writer, reply };
  return { relay: new Relay({ model: model(thinks), meter, outputTokensMax: 99, vectorsDue, stream }), events };
}

describe("whether a node that is done gave anything", () => {
  test("nothing at all is empty; one token is an answer", () => {
    const { relay } = relayOf();
    relay.begin();
    assert.equal(relay.finished(), "empty");
    relay.begin();
    relay.delta("answer", "x");
    assert.equal(relay.finished(), "answered");
  });

  test("thinking alone is output; line breaks before it are none", () => {
    const { relay } = relayOf({ thinks: true });
    relay.delta("answer", "<think>hm</think>");
    assert.equal(relay.finished(), "answered");
    const bare = relayOf({ thinks: true }).relay;
    bare.delta("answer", "<think>\n</think>\n");
    assert.equal(bare.finished(), "empty");
  });

  test("what was held back counts, and goes out", () => {
    const { relay, events } = relayOf({ thinks: true });
    relay.delta("answer", "<thin");
    assert.equal(relay.reachedClient, false);
    assert.equal(relay.finished(), "answered");
    assert.deepEqual([events, relay.end()], [["<thin"], { answerTokens: 5, reasoningTokens: 0 }]);
  });

  test("vectors that are owed and did not come break the protocol", () => {
    const { relay } = relayOf({ vectorsDue: 2 });
    assert.equal(relay.finished(), "broken");
    relay.vectors(0, 2, Float32Array.of(1, 0, 0, 1));
    assert.equal(relay.finished(), "answered");
  });

  test("an attempt that starts anew has nothing of the one before", () => {
    const { relay } = relayOf({ thinks: true });
    relay.delta("answer", "<think>\n");
    assert.equal(relay.finished(), "empty");
    relay.begin();
    relay.delta("reasoning", "hm");
    relay.delta("answer", "yes");
    assert.equal(relay.finished(), "answered");
    assert.deepEqual(relay.end(), { answerTokens: 3, reasoningTokens: 2 });
  });
});

describe("what reached the client", () => {
  test("is the answer that was written, without thinking and without what is held back", () => {
    const { relay, events } = relayOf({ thinks: true });
    relay.delta("reasoning", "hm");
    assert.deepEqual([relay.delivered(), relay.reachedClient], [{ answerTokens: 0, reasoningTokens: 0 }, false]);
    relay.delta("answer", "yes");
    assert.deepEqual(relay.delivered(), { answerTokens: 3, reasoningTokens: 0 });
    assert.deepEqual(events, ["yes"]);
    const held = relayOf({ thinks: true });
    held.relay.delta("answer", "<thin");
    assert.deepEqual(held.relay.delivered(), { answerTokens: 0, reasoningTokens: 0 });
    assert.deepEqual(held.events, []);
  });
});
