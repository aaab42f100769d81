import assert from "node:assert/strict";
import { test } from "node:test";
import { type Exchange, newAnswer } from "./answer-state.ts";
import { DEFAULT_SETTINGS } from "./playground-settings.ts";
import { type ChatState, restoreChat, STORED_CHARS_MAX, serializeChat } from "./stored-chat.ts";

const ada = { person: "idn_ada", account: "acc_1" };
const exchange = (id: number, text: string): Exchange => ({
  id,
  question: "why?",
  answers: [{ ...newAnswer("tiny-3b", 5), state: "finished", finish: "stop", text }],
});
const state = (exchanges: Exchange[]): ChatState => ({
  exchanges,
  draft: "and then",
  settings: { ...DEFAULT_SETTINGS, system: "Be brief." },
  view: "text",
  dropped: 0,
});

test("restores a saved chat for its owner only", () => {
  const text = serializeChat(state([exchange(1, "because")]), ada);
  assert.deepEqual(restoreChat(text, ada), JSON.parse(JSON.stringify(state([exchange(1, "because")]))));
  assert.equal(restoreChat(text, { ...ada, person: "idn_eve" }), undefined);
  assert.equal(restoreChat(text, { ...ada, account: "acc_2" }), undefined);
});

test("shows an answer as interrupted if the page was closed before its end", () => {
  const coming: Exchange = {
    id: 1,
    question: "?",
    answers: [{ ...newAnswer("m", 5), state: "streaming", text: "so f" }],
  };
  const [answer] = restoreChat(serializeChat(state([coming]), ada), ada)?.exchanges[0]?.answers ?? [];
  assert.deepEqual([answer?.state, answer?.interrupted, answer?.text], ["stopped", true, "so f"]);
});

test("drops the oldest messages above the size limit and counts them", () => {
  const long = "x".repeat(300_000);
  const text = serializeChat(state([1, 2, 3, 4, 5].map((id) => exchange(id, long))), ada);
  assert.ok(text.length <= STORED_CHARS_MAX + 500);
  const kept = restoreChat(text, ada);
  assert.deepEqual([kept?.exchanges.map(({ id }) => id), kept?.dropped], [[3, 4, 5], 2]);
});

test("ignores invalid stored data", () => {
  for (const text of [
    null,
    "",
    "{",
    "[]",
    '{"version":1}',
    '{"version":1,"person":"idn_ada","account":"acc_1","exchanges":[{}]}',
  ]) {
    assert.equal(restoreChat(text, ada), undefined);
  }
});
