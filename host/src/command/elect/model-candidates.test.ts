import assert from "node:assert/strict";
import { test } from "node:test";
import { PAINT_WITHOUT_COLORS } from "@tollgate/terminal/terminal-text.ts";
import { BYTES_PER_GIB } from "../testing/fake-machine.ts";
import { formatProposal, listModelObjections, type ModelCandidate, proposeModels } from "./model-candidates.ts";

const candidate = (model: string, rest: Partial<ModelCandidate> = {}): ModelCandidate => ({
  model,
  kind: "generation",
  priceInMicro1m: 20_000,
  priceOutMicro1m: 40_000,
  held: true,
  bytesNeeded: 4 * BYTES_PER_GIB,
  fits: true,
  tokenizer: "matches",
  template: undefined,
  ...rest,
});
const candidates = [
  candidate("tiny-3b"),
  candidate("small-8b", { tokenizer: "unknown" }),
  candidate("mid-14b", { held: false, tokenizer: "unknown" }),
  candidate("reason-32b", { fits: false, bytesNeeded: 29 * BYTES_PER_GIB }),
  candidate("small-7b-alt", { tokenizer: "differs" }),
  candidate("embed-m3", {
    kind: "embedding",
    priceInMicro1m: 10_000,
    priceOutMicro1m: null,
    bytesNeeded: 2 * BYTES_PER_GIB,
  }),
];

test("elect proposes models that an engine has, that fit the memory and whose tokens are counted correctly", () => {
  assert.deepEqual(proposeModels(candidates), ["tiny-3b", "small-8b", "embed-m3"]);
});

test("elect prints the proposed models and the reasons against the others as a table", () => {
  assert.deepEqual(formatProposal(candidates, PAINT_WITHOUT_COLORS), [
    "model           memory  a builder pays per 1M tokens  can be served here",
    "tiny-3b        4.0 GiB  $0.02 in, $0.04 out           yes, tokenizer checked",
    "small-8b       4.0 GiB  $0.02 in, $0.04 out           yes",
    "mid-14b        4.0 GiB  $0.02 in, $0.04 out           no: no engine on this machine has this model",
    "reason-32b    29.0 GiB  $0.02 in, $0.04 out           no: needs about 29.0 GiB",
    "small-7b-alt   4.0 GiB  $0.02 in, $0.04 out           no: the engine's token counts differ from this model's, so it runs another model",
    "embed-m3       2.0 GiB  $0.01 in                      yes, tokenizer checked",
  ]);
});

test("a user may choose models that seem too large, but not missing models or models with another tokenizer", () => {
  assert.deepEqual(listModelObjections(["tiny-3b", "reason-32b"], candidates), []);
  const wrong = listModelObjections(["mid-14b", "small-7b-alt", "gpt-9"], candidates);
  assert.deepEqual(
    wrong.map((line) => line.slice(0, 40)),
    [
      "--models: mid-14b: no engine on this machine has this model".slice(0, 40),
      "--models: small-7b-alt: the engine's tokenizer".slice(0, 40),
      "--models: gpt-9 is not in the catalogue;ogue".slice(0, 40),
    ],
  );
});

test("tollgate-host elect shows no memory requirements for an engine on another machine", () => {
  const [header, row] = formatProposal([candidate("tiny-3b", { bytesNeeded: undefined })], PAINT_WITHOUT_COLORS);
  assert.equal(header, "model    a builder pays per 1M tokens  can be served here");
  assert.equal(row, "tiny-3b  $0.02 in, $0.04 out           yes, tokenizer checked");
});
