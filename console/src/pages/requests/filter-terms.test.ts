import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFilter } from "../../requests/filter-text.ts";
import { makeQueryParameters, needsKeyNames } from "./filter-terms.ts";

const [WEB, WEB_TOO, JOBS] = ["a", "b", "c"].map((one) => `key_${one.repeat(26)}`);
const KEYS = [
  { id: WEB as string, name: "web" },
  { id: WEB_TOO as string, name: "web" },
  { id: JOBS as string, name: "nightly jobs" },
];
const ask = (text: string, keys: typeof KEYS | undefined = KEYS) => makeQueryParameters(parseFilter(text).terms, keys);

test("combines values of the same field with OR, and exclusions with AND", () => {
  assert.deepEqual(ask("model:a model:b -outcome:ok -outcome:client_closed label:x -label:y").filter, {
    model: "a,b",
    not_outcome: "ok,client_closed",
    label: "x",
    not_label: "y",
  });
});

test("finds keys by name or ID, and playground keys by the name Playground", () => {
  assert.deepEqual(ask('key:web -key:"nightly jobs"').filter, { key: `${WEB},${WEB_TOO}`, not_key: JOBS });
  assert.deepEqual(ask(`key:${JOBS} key:playground`).filter, { key: `${JOBS},playground` });
  assert.deepEqual(ask("key:none").wrong, [{ word: "key:none", rule: "no key of this account has this name" }]);
  const { terms } = parseFilter("key:web outcome:ok");
  assert.deepEqual(makeQueryParameters(terms, undefined), { filter: { outcome: "ok" }, wrong: [] });
  assert.deepEqual([needsKeyNames(terms), needsKeyNames(parseFilter("key:playground model:a").terms)], [true, false]);
});

test("converts comparisons to inclusive bounds in the API's units, and uses the tightest bound", () => {
  assert.deepEqual(ask("cost>0.01 tokens>=1000 ttft<1.5s duration<=20ms").filter, {
    charge_micro_min: "10000.000001",
    tokens_min: "1000",
    ttft_ms_max: "1499",
    duration_ms_max: "20",
  });
  assert.deepEqual(ask("tokens>5 tokens>90 tokens<1000 tokens<=200 cost<=$2 cost<0.5").filter, {
    tokens_min: "91",
    tokens_max: "200",
    charge_micro_max: "499999.999999",
  });
});

test("refuses an invalid value and names the violated rule", () => {
  const rules: Record<string, RegExp> = {
    "outcome:failed": /^outcomes are ok, upstream_failed/,
    "tokens<0": /below zero/,
    [`label:${"x".repeat(65)}`]: /at most 64/,
    "label:b": /only one label/,
    "model:a,b": /on its own/,
  };
  for (const [word, rule] of Object.entries(rules)) {
    const { wrong } = ask(word === "label:b" ? "label:a label:b" : word);
    assert.deepEqual(
      wrong.map((one) => one.word),
      [word],
    );
    assert.match(wrong[0]?.rule ?? "", rule);
  }
});
