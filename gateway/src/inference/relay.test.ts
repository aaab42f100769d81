import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { type ActiveModel, type Catalogue, loadCatalogue } from "../metering/catalogue.ts";
import { openTokenMetering, type TokenMetering } from "../metering/metering.ts";
import type { TokenMeter } from "../metering/token-meter.ts";
import { chat } from "../routes/openai/chat.ts";
import { Relay, toNodeSamplingOptions } from "./relay.ts";

describe("the relay of a node's output", () => {
  let catalogue: Catalogue;
  let metering: TokenMetering;
  before(async () => {
    catalogue = await loadCatalogue(new URL("../../catalogue/models.json", import.meta.url));
    metering = await openTokenMetering({ log: createLog("silent") });
  });
  after(() => metering.close());

  function open(
    options: { model?: string; stop?: string[]; cap?: number; events?: string[]; vectorsDue?: number } = {},
  ) {
    const { model: id = "tiny-3b", stop, cap = 100, events, vectorsDue = 0 } = options;
    const model = catalogue.active.get(id) as ActiveModel;
    const meter = metering.meter(model.build.tokenizer);
    assert.ok(meter !== undefined);
    const writer = chat.stream?.({ suffix: "x", created: 0, model: id }, { includeUsage: false });
    const stream =
      events === undefined || writer === undefined
        ? null
        : {
            delta: (text: string) => events.push(JSON.parse(writer.delta(text)).choices[0].delta.content),
            thought: null,
          };
    return new Relay({ model, endpoint: "chat", meter, outputTokensMax: cap, vectorsDue, stop, stream });
  }

  test("delivers and counts nothing after a stop string, and reports that it needs no more output", () => {
    const relay = open({ stop: ["END"] });
    assert.equal(relay.delta("answer", "one two E"), "more");
    assert.equal(relay.delta("answer", "ND three four"), "enough");
    assert.equal(relay.delta("answer", "five"), "enough");
    assert.deepEqual(relay.end(), { answerTokens: 3, reasoningTokens: 0 });
    assert.deepEqual([relay.text, relay.cut], ["one two ", "stop"]);
  });

  test("streams text as it arrives, and holds back only what may be the beginning of a stop string", () => {
    const events: string[] = [];
    const relay = open({ stop: ["END"], events });
    for (const text of ["one", " two", " E", "N", "orm", "ous", " EN"]) relay.delta("answer", text);
    assert.deepEqual(events, ["one", " two", " ", "ENorm", "ous", " "]);
    // The output ended with text that could have begun a stop string.
    relay.end();
    assert.deepEqual([events.at(-1), relay.cut], ["EN", null]);
  });

  test("returns an empty answer when a stop string comes first", () => {
    const relay = open({ stop: ["\n"] });
    assert.equal(relay.delta("answer", "\nlots of text"), "enough");
    assert.deepEqual(relay.end(), { answerTokens: 0, reasoningTokens: 0 });
    assert.deepEqual([relay.text, relay.cut], ["", "stop"]);
    relay.begin("node_a");
    assert.equal(relay.delta("answer", "text"), "more");
    assert.equal(relay.finished(), "answered");
  });

  test("ends at the output cap if it is reached before a stop string", () => {
    const relay = open({ stop: ["END"], cap: 2 });
    assert.equal(relay.delta("answer", "one two three END"), "enough");
    assert.deepEqual(relay.end(), { answerTokens: 2, reasoningTokens: 0 });
    assert.deepEqual([relay.text, relay.cut], ["one two", "length"]);
  });

  test("cuts held-back text at the output cap, and reports that the cap ended the output", () => {
    const relay = open({ stop: [" two three END"], cap: 2 });
    assert.equal(relay.delta("answer", "one two three"), "more");
    relay.end();
    assert.deepEqual([relay.text, relay.cut], ["one two", "length"]);
  });

  test("searches the answer for stop strings, but not the thinking", () => {
    const relay = open({ model: "reason-32b", stop: ["END"] });
    assert.equal(relay.delta("answer", "<think>the END of it</think>no"), "more");
    assert.equal(relay.delta("reasoning", "END"), "more");
    assert.equal(relay.delta("answer", " END x"), "enough");
    relay.end();
    assert.deepEqual([relay.text, relay.reasoning, relay.cut], ["no ", "the END of itEND", "stop"]);
  });

  test("treats all output as the answer for a model that does not separate thinking", () => {
    const relay = open({ stop: ["END"] });
    assert.equal(relay.delta("reasoning", "a END b"), "enough");
    relay.end();
    assert.deepEqual([relay.text, relay.cut], ["a ", "stop"]);
  });

  test("drops held-back text of the first attempt when another attempt starts", () => {
    const relay = open({ stop: ["END"] });
    relay.delta("answer", "first EN");
    relay.begin("node_a");
    assert.equal(relay.delta("answer", "D second"), "more");
    relay.end();
    assert.deepEqual([relay.text, relay.cut], ["D second", null]);
  });

  test("treats text output for an embedding as a protocol violation", () => {
    const relay = open({ model: "embed-m3", cap: 0, vectorsDue: 1 });
    assert.equal(relay.delta("answer", "x"), "broken");
    assert.equal(relay.vectors(0, 1024, new Float32Array(1024)), "more");
    relay.end();
    assert.equal(relay.cut, null);
  });

  test("returns the complete answer if it arrives in very many parts", () => {
    const relay = open({ cap: 10_000 });
    const parts = Array.from({ length: 3_000 }, (_, i) => ` ${i % 10}`);
    for (const part of parts) relay.delta("answer", part);
    relay.end();
    assert.ok(relay.text === parts.join(""));
  });
});

/** A meter that counts each character as one token. */
const meter: TokenMeter = {
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

function model(thinks: boolean, template_opens: boolean): ActiveModel {
  const reasoning = thinks ? { reasoning: { open: "<think>", close: "</think>", template_opens } } : {};
  return {
    id: "m",
    kind: "generation",
    class: "tiny",
    contextLimit: 100,
    prices: { in: pico(1n), out: pico(1n) },
    priceVersion: 1,
    build: { id: "b", tokenizer: "characters", vector_width: 2, ...reasoning },
    admissionMax: undefined,
    speedMax: 1000,
    readingSpeedMax: 1_000_000,
    canaries: [],
  };
}

interface Traits {
  thinks?: boolean;
  /** Whether the chat template already opens the thinking, so that the output begins inside it. */
  opened?: boolean;
  vectorsDue?: number;
  stop?: string[];
  endpoint?: "chat" | "completion";
  /** Whether the key's owner enabled thinking in streams. */
  sendsThoughts?: boolean;
}

function relayOf(traits: Traits = {}) {
  const { thinks = false, opened = false, vectorsDue = 0, stop, endpoint = "chat", sendsThoughts = false } = traits;
  const events: string[] = [];
  const thought = sendsThoughts ? (text: string) => void events.push(`(${text})`) : null;
  const stream = { delta: (text: string) => void events.push(text), thought };
  const asked = { model: model(thinks, opened), endpoint, meter, outputTokensMax: 99, vectorsDue, stop, stream };
  return { relay: new Relay(asked), events };
}

describe("counting a node's output", () => {
  test("treats a job without a token as empty, and one with a token as answered", () => {
    const { relay } = relayOf();
    relay.begin("node_a");
    assert.equal(relay.finished(), "empty");
    relay.begin("node_a");
    relay.delta("answer", "x");
    assert.equal(relay.finished(), "answered");
  });

  test("counts thinking as output, but not line breaks inside empty thinking", () => {
    const { relay } = relayOf({ thinks: true });
    relay.delta("answer", "<think>hm</think>");
    assert.equal(relay.finished(), "answered");
    const bare = relayOf({ thinks: true }).relay;
    bare.delta("answer", "<think>\n</think>\n");
    assert.equal(bare.finished(), "empty");
  });

  test("counts held-back text as output and sends it", () => {
    const { relay, events } = relayOf({ thinks: true });
    relay.delta("answer", "<thin");
    assert.equal(relay.reachedClient, false);
    assert.equal(relay.finished(), "answered");
    assert.deepEqual([events, relay.end()], [["<thin"], { answerTokens: 5, reasoningTokens: 0 }]);
  });

  // Clients that disconnect, or whose node falls silent, must not pay for text that the gateway still held back.
  for (const [what, begun, held] of [
    ["a partial opening delimiter", "", "<thin"],
    ["white space before the opening delimiter", "", "\n "],
    ["a partial closing delimiter", "<think>hm", "</thi"],
  ] as const) {
    test(`does not charge for ${what} that was held back when the request was cut off`, () => {
      const { relay, events } = relayOf({ thinks: true });
      relay.delta("answer", begun);
      relay.delta("answer", held);
      assert.deepEqual(relay.end(), { answerTokens: 0, reasoningTokens: begun === "" ? 0 : 2 });
      assert.deepEqual(events, []);
    });
  }

  test("treats missing vectors as a protocol violation", () => {
    const { relay } = relayOf({ vectorsDue: 2 });
    assert.equal(relay.finished(), "broken");
    relay.vectors(0, 2, Float32Array.of(1, 0, 0, 1));
    assert.equal(relay.finished(), "answered");
  });

  test("drops the output of the previous attempt when a new attempt starts", () => {
    const { relay } = relayOf({ thinks: true });
    relay.delta("answer", "<think>\n");
    assert.equal(relay.finished(), "empty");
    relay.begin("node_a");
    relay.delta("reasoning", "hm");
    relay.delta("answer", "yes");
    assert.equal(relay.finished(), "answered");
    assert.deepEqual(relay.end(), { answerTokens: 3, reasoningTokens: 2 });
  });
});

describe("thinking opened by the chat template", () => {
  const thinks = true;
  const opened = true;

  test("is all text before the first closing tag, with or without a repeated opening tag", () => {
    for (const pieces of [["\nI ad", "d.\n</th", "ink>\n\n4"], ["<think>I add.</think>4"]]) {
      const { relay, events } = relayOf({ thinks, opened });
      for (const piece of pieces) relay.delta("answer", piece);
      assert.equal(relay.finished(), "answered");
      assert.deepEqual([relay.reasoning, events.join("")], ["I add.", "4"]);
    }
  });

  test("is the whole output if the closing tag is missing", () => {
    const { relay, events } = relayOf({ thinks, opened });
    relay.delta("answer", "I add and");
    relay.delta("answer", " add</thi");
    assert.equal(relay.finished(), "answered");
    assert.deepEqual([relay.reasoning, events], ["I add and add</thi", []]);
    assert.deepEqual(relay.end(), { answerTokens: 0, reasoningTokens: 18 });
  });

  test("is not searched for stop strings, unlike the answer", () => {
    const { relay, events } = relayOf({ thinks, opened, stop: ["END"] });
    assert.equal(relay.delta("answer", "the END of it</think>no"), "more");
    assert.equal(relay.delta("answer", " END x"), "enough");
    relay.end();
    assert.deepEqual([relay.reasoning, events.join(""), relay.cut], ["the END of it", "no ", "stop"]);
  });

  test("is the output on the reasoning channel if the engine separates thinking from the answer", () => {
    const { relay, events } = relayOf({ thinks, opened });
    relay.delta("reasoning", "hm");
    relay.delta("answer", "\nyes");
    assert.equal(relay.finished(), "answered");
    assert.deepEqual([relay.reasoning, events.join("")], ["hm", "\nyes"]);
  });

  test("is not expected for a completion, which uses no template, and is detected again in each attempt", () => {
    const { relay, events } = relayOf({ thinks, opened, endpoint: "completion" });
    relay.delta("answer", "four");
    assert.deepEqual([relay.reasoning, events], ["", ["four"]]);
    const again = relayOf({ thinks, opened });
    again.relay.delta("answer", "hm</think>");
    again.relay.begin("node_b");
    again.relay.delta("answer", "so</think>yes");
    assert.deepEqual([again.relay.reasoning, again.events], ["so", ["yes"]]);
  });
});

describe("sampling options sent to a node", () => {
  const sampling = { stop: ["END"], seed: 1 };
  test("exclude stop strings for models that think, because engines would also search the thinking", () => {
    assert.deepEqual(toNodeSamplingOptions(model(true, false), sampling), { seed: 1 });
    assert.deepEqual(toNodeSamplingOptions(model(false, false), sampling), sampling);
  });
});

describe("the output that reached the client", () => {
  test("includes thinking when it is streamed", () => {
    const { relay, events } = relayOf({ thinks: true, sendsThoughts: true });
    relay.delta("answer", "<think>hm");
    assert.deepEqual([relay.delivered(), relay.reachedClient], [{ answerTokens: 0, reasoningTokens: 2 }, true]);
    relay.delta("answer", "</think>yes");
    assert.deepEqual(events, ["(hm)", "yes"]);
    assert.equal(relay.reasoning, "hm", "all of it comes again with the end");
  });

  test("includes the answer as far as it was sent, without thinking or held-back text", () => {
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
