import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { type ActiveModel, type Catalogue, loadCatalogue } from "../metering/catalogue.ts";
import type { Meter } from "../metering/meter.ts";
import { type Metering, openMetering } from "../metering/metering.ts";
import { chat } from "../routes/openai/chat.ts";
import { nodeSampling, Relay } from "./relay.ts";

describe("the relay", () => {
  let catalogue: Catalogue;
  let metering: Metering;
  before(async () => {
    catalogue = await loadCatalogue(new URL("../../catalogue/models.json", import.meta.url));
    metering = await openMetering({ log: createLog("silent") });
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

  test("what follows a stop string is neither delivered nor counted, and the node is stopped", () => {
    const relay = open({ stop: ["END"] });
    assert.equal(relay.delta("answer", "one two E"), "more");
    assert.equal(relay.delta("answer", "ND three four"), "enough");
    assert.equal(relay.delta("answer", "five"), "enough");
    assert.deepEqual(relay.end(), { answerTokens: 3, reasoningTokens: 0 });
    assert.deepEqual([relay.text, relay.cut], ["one two ", "stop"]);
  });

  test("a stream goes on as it comes, but for what begins a stop string", () => {
    const events: string[] = [];
    const relay = open({ stop: ["END"], events });
    for (const text of ["one", " two", " E", "N", "orm", "ous", " EN"]) relay.delta("answer", text);
    assert.deepEqual(events, ["one", " two", " ", "ENorm", "ous", " "]);
    // The output ended in the middle of what was no stop string.
    relay.end();
    assert.deepEqual([events.at(-1), relay.cut], ["EN", null]);
  });

  test("a stop string that comes at once is an answer, though an empty one", () => {
    const relay = open({ stop: ["\n"] });
    assert.equal(relay.delta("answer", "\nlots of text"), "enough");
    assert.deepEqual(relay.end(), { answerTokens: 0, reasoningTokens: 0 });
    assert.deepEqual([relay.text, relay.cut], ["", "stop"]);
    relay.begin("node_a");
    assert.equal(relay.delta("answer", "text"), "more");
    assert.equal(relay.finished(), "answered");
  });

  test("the cap comes first where it is reached before the stop string", () => {
    const relay = open({ stop: ["END"], cap: 2 });
    assert.equal(relay.delta("answer", "one two three END"), "enough");
    assert.deepEqual(relay.end(), { answerTokens: 2, reasoningTokens: 0 });
    assert.deepEqual([relay.text, relay.cut], ["one two", "length"]);
  });

  test("text held back that passes the cap at the end is cut, and says so", () => {
    const relay = open({ stop: [" two three END"], cap: 2 });
    assert.equal(relay.delta("answer", "one two three"), "more");
    relay.end();
    assert.deepEqual([relay.text, relay.cut], ["one two", "length"]);
  });

  test("thinking is not searched for stop strings, the answer after it is", () => {
    const relay = open({ model: "reason-32b", stop: ["END"] });
    assert.equal(relay.delta("answer", "<think>the END of it</think>no"), "more");
    assert.equal(relay.delta("reasoning", "END"), "more");
    assert.equal(relay.delta("answer", " END x"), "enough");
    relay.end();
    assert.deepEqual([relay.text, relay.reasoning, relay.cut], ["no ", "the END of itEND", "stop"]);
  });

  test("in a model that does not think apart all output is the answer", () => {
    const relay = open({ stop: ["END"] });
    assert.equal(relay.delta("reasoning", "a END b"), "enough");
    relay.end();
    assert.deepEqual([relay.text, relay.cut], ["a ", "stop"]);
  });

  test("another attempt begins without what the first one held back", () => {
    const relay = open({ stop: ["END"] });
    relay.delta("answer", "first EN");
    relay.begin("node_a");
    assert.equal(relay.delta("answer", "D second"), "more");
    relay.end();
    assert.deepEqual([relay.text, relay.cut], ["D second", null]);
  });

  test("text for an embedding breaks the protocol: it is not taken for an answer", () => {
    const relay = open({ model: "embed-m3", cap: 0, vectorsDue: 1 });
    assert.equal(relay.delta("answer", "x"), "broken");
    assert.equal(relay.vectors(0, 1024, new Float32Array(1024)), "more");
    relay.end();
    assert.equal(relay.cut, null);
  });

  test("an answer in very many parts is whole", () => {
    const relay = open({ cap: 10_000 });
    const parts = Array.from({ length: 3_000 }, (_, i) => ` ${i % 10}`);
    for (const part of parts) relay.delta("answer", part);
    relay.end();
    assert.ok(relay.text === parts.join(""));
  });
});

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
  /** The chat template opens the thinking. */
  opened?: boolean;
  vectorsDue?: number;
  stop?: string[];
  endpoint?: "chat" | "completion";
  /** The key has thinking sent as it comes. */
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

describe("whether a node that is done gave anything", () => {
  test("nothing at all is empty; one token is an answer", () => {
    const { relay } = relayOf();
    relay.begin("node_a");
    assert.equal(relay.finished(), "empty");
    relay.begin("node_a");
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

  // What a client that left, or that waited for a node which fell silent, would otherwise have paid for.
  for (const [what, begun, held] of [
    ["the opening delimiter", "", "<thin"],
    ["white space before it", "", "\n "],
    ["the closing delimiter", "<think>hm", "</thi"],
  ] as const) {
    test(`where the output broke off, ${what} that was begun is no output`, () => {
      const { relay, events } = relayOf({ thinks: true });
      relay.delta("answer", begun);
      relay.delta("answer", held);
      assert.deepEqual(relay.end(), { answerTokens: 0, reasoningTokens: begun === "" ? 0 : 2 });
      assert.deepEqual(events, []);
    });
  }

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
    relay.begin("node_a");
    relay.delta("reasoning", "hm");
    relay.delta("answer", "yes");
    assert.equal(relay.finished(), "answered");
    assert.deepEqual(relay.end(), { answerTokens: 3, reasoningTokens: 2 });
  });
});

describe("thinking that the chat template opens", () => {
  const thinks = true;
  const opened = true;

  test("is all that comes before the first closing tag, whether or not the opening tag is repeated", () => {
    for (const pieces of [["\nI ad", "d.\n</th", "ink>\n\n4"], ["<think>I add.</think>4"]]) {
      const { relay, events } = relayOf({ thinks, opened });
      for (const piece of pieces) relay.delta("answer", piece);
      assert.equal(relay.finished(), "answered");
      assert.deepEqual([relay.reasoning, events.join("")], ["I add.", "4"]);
    }
  });

  test("is everything where the closing tag never comes", () => {
    const { relay, events } = relayOf({ thinks, opened });
    relay.delta("answer", "I add and");
    relay.delta("answer", " add</thi");
    assert.equal(relay.finished(), "answered");
    assert.deepEqual([relay.reasoning, events], ["I add and add</thi", []]);
    assert.deepEqual(relay.end(), { answerTokens: 0, reasoningTokens: 18 });
  });

  test("is not searched for stop strings, the answer is", () => {
    const { relay, events } = relayOf({ thinks, opened, stop: ["END"] });
    assert.equal(relay.delta("answer", "the END of it</think>no"), "more");
    assert.equal(relay.delta("answer", " END x"), "enough");
    relay.end();
    assert.deepEqual([relay.reasoning, events.join(""), relay.cut], ["the END of it", "no ", "stop"]);
  });

  test("is recognised by its channel where the engine separates it, and the rest is the answer", () => {
    const { relay, events } = relayOf({ thinks, opened });
    relay.delta("reasoning", "hm");
    relay.delta("answer", "\nyes");
    assert.equal(relay.finished(), "answered");
    assert.deepEqual([relay.reasoning, events.join("")], ["hm", "\nyes"]);
  });

  test("is none where the prompt goes without the template, and begins anew with every attempt", () => {
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

describe("the stop strings that a node receives", () => {
  const sampling = { stop: ["END"], seed: 1 };
  test("is nothing where it thinks: engines look for them in the thinking too", () => {
    assert.deepEqual(nodeSampling(model(true, false), sampling), { seed: 1 });
    assert.deepEqual(nodeSampling(model(false, false), sampling), sampling);
  });
});

describe("what reached the client", () => {
  test("is thinking too where it is sent as it comes", () => {
    const { relay, events } = relayOf({ thinks: true, sendsThoughts: true });
    relay.delta("answer", "<think>hm");
    assert.deepEqual([relay.delivered(), relay.reachedClient], [{ answerTokens: 0, reasoningTokens: 2 }, true]);
    relay.delta("answer", "</think>yes");
    assert.deepEqual(events, ["(hm)", "yes"]);
    assert.equal(relay.reasoning, "hm", "all of it comes again with the end");
  });

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
