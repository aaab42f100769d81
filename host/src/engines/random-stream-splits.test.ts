/**
 * The engine may split its answer into deltas anywhere, and the network may split the bytes anywhere. No character may
 * be lost or repeated, in any engine's API.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { chatJob, RecordingSink } from "../testing/recording-sink.ts";
import type { GenerationJob } from "./engine.ts";
import { OutputRelay } from "./output-relay.ts";
import type { EngineApiDialect, EngineProfile } from "./profiles/engine-profile.ts";
import { genericProfile } from "./profiles/generic-engine.ts";
import { llamaServerProfile } from "./profiles/llama-server.ts";
import { lmStudioProfile } from "./profiles/lm-studio.ts";
import { mlxProfile } from "./profiles/mlx.ts";
import { ollamaProfile } from "./profiles/ollama.ts";
import { vllmProfile } from "./profiles/vllm.ts";
import { NdjsonReader, SseReader } from "./stream-framing.ts";

const PARTS = [
  " ",
  "  lead",
  "word",
  "é",
  "ñ",
  "日本",
  "😀",
  "👩‍👩‍👧",
  "e\u0301",
  "\n",
  "\r\n",
  "\t",
  '"',
  "\\",
  "\ufeff",
  "\u2028",
  "data: ",
  ": ",
  "<think>",
  "</think>",
  "END",
  "[DONE]",
  "𝒳",
  "\ufffd",
];

/** Splits into pieces of these lengths, starting over after the last length. */
function pieces<T extends string | Uint8Array>(whole: T, lengths: readonly number[]): T[] {
  const cut: T[] = [];
  for (let at = 0, i = 0; at < whole.length; i++) {
    const to = at + (lengths[i % lengths.length] ?? whole.length);
    cut.push(whole.slice(at, to) as T);
    at = to;
  }
  return cut;
}

const text = fc.array(fc.constantFrom(...PARTS), { maxLength: 12 }).map((parts) => parts.join(""));
const lengths = (longest: number) => fc.array(fc.integer({ min: 1, max: longest }), { minLength: 1, maxLength: 30 });

type Say = (kind: "thinking" | "answer", text: string) => string;
const sse = (fields: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...fields }] })}\n\n`;
const chat =
  (thinking: string): Say =>
  (kind, text) =>
    sse({ delta: { [kind === "answer" ? "content" : thinking]: text } });
const lines: Say = (kind, text) =>
  `${JSON.stringify({ message: kind === "answer" ? { content: text } : { content: "", thinking: text }, done: false })}\n`;

const CASES: [profile: EngineProfile, name: string, say: Say, end: string][] = [
  [genericProfile, "chat", chat("thinking"), `${sse({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`],
  [
    genericProfile,
    "chat with returns",
    (kind, text) => chat("reasoning")(kind, text).replaceAll("\n", "\r\n"),
    "data: [DONE]\r\n\r\n",
  ],
  [genericProfile, "completion", (_, text) => sse({ text }), sse({ text: "", finish_reason: "length" })],
  [llamaServerProfile, "chat", chat("reasoning_content"), "data: [DONE]\n\n"],
  [lmStudioProfile, "chat", chat("reasoning"), "data: [DONE]\n\n"],
  [vllmProfile, "chat", chat("reasoning"), "data: [DONE]\n\n"],
  [mlxProfile, "chat", (kind, text) => `: keepalive 1/2\n\n${chat("reasoning")(kind, text)}`, "data: [DONE]\n\n"],
  [ollamaProfile, "chat", lines, `${JSON.stringify({ message: { content: "" }, done: true, done_reason: "stop" })}\n`],
];

/** Returns the output for a stream that arrives in these pieces. */
function heard(dialect: EngineApiDialect, bytes: Uint8Array[], job: GenerationJob) {
  const sink = new RecordingSink();
  const relay = new OutputRelay({ job, sink, contextTokens: undefined });
  const comment = (text: string): void => relay.take(dialect.readComment?.(text) ?? {});
  const reader = dialect.framing === "sse" ? new SseReader(comment) : new NdjsonReader();
  for (const piece of bytes) {
    for (const data of reader.push(piece)) relay.take(dialect.read(data));
    relay.flush();
  }
  for (const data of reader.end()) relay.take(dialect.read(data));
  relay.end();
  relay.flush();
  for (const { text } of sink.deltas) assert.ok(text.isWellFormed() && text !== "");
  return { thinking: sink.text("reasoning"), answer: sink.text("answer"), cut: relay.cut };
}

for (const [profile, name, say, end] of CASES) {
  test(`${profile.kind}, ${name}: returns every character once and in order, however the stream is cut`, () => {
    const property = fc.property(text, text, lengths(6), lengths(40), (thoughts, answer, deltas, packets) => {
      const thinking = name === "completion" ? "" : thoughts;
      const events = [
        ...pieces(thinking, deltas).map((piece) => say("thinking", piece)),
        ...pieces(answer, deltas).map((piece) => say("answer", piece)),
      ];
      const bytes = pieces(new TextEncoder().encode(events.join("") + end), packets);
      for (const gathers of [false, true])
        assert.deepEqual(heard(profile.dialect, bytes, chatJob("x", { gathers })), {
          thinking,
          answer,
          cut: undefined,
        });
      const stopped = heard(profile.dialect, bytes, chatJob("x", { sampling: { stop: ["END", "😀"] } }));
      const at = [answer.indexOf("END"), answer.indexOf("😀")].filter((index) => index !== -1);
      assert.equal(stopped.answer, at.length === 0 ? answer : answer.slice(0, Math.min(...at)));
      assert.equal(stopped.cut, at.length === 0 ? undefined : "stop");
    });
    fc.assert(property);
  });
}
