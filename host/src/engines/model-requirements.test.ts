import assert from "node:assert/strict";
import { test } from "node:test";
import { ACTIVE_MODELS } from "./model-names.ts";
import { computeModelBytes, findContextTokens, modelFitsMemory } from "./model-requirements.ts";

const GIB = 2 ** 30;
const that = (memoryGib: number): string[] => ACTIVE_MODELS.filter((model) => modelFitsMemory(model, memoryGib * GIB));

test("more models fit into more memory, smallest first", () => {
  assert.deepEqual(that(1), []);
  assert.deepEqual(that(4), ["tiny-3b", "embed-m3"]);
  assert.deepEqual(that(8), ["tiny-3b", "small-8b", "small-7b-alt", "embed-m3"]);
  assert.deepEqual(that(16), ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "embed-m3"]);
  assert.deepEqual(that(32), ACTIVE_MODELS);
});

test("each slot needs memory for one context", () => {
  const oneMore = (computeModelBytes("mid-14b", 2) as number) - (computeModelBytes("mid-14b", 1) as number);
  assert.equal(oneMore, 32_768 * 196_608);
});

test("an unknown model never fits into memory, and has no known size or context limit", () => {
  assert.equal(modelFitsMemory("large-70b", 1e15), false);
  assert.equal(computeModelBytes("large-70b"), undefined);
  assert.equal(findContextTokens("large-70b"), undefined);
});

test("context limits equal those of the catalogue", () => {
  assert.deepEqual(ACTIVE_MODELS.map(findContextTokens), [8_192, 16_384, 32_768, 32_768, 32_768, 8_192]);
});
