import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { judgeCanary, questionFromCanary } from "./canary.ts";

describe("canaries (requests with a known answer)", () => {
  const sum = { prompt: "7 + 5?", expect: "\\b12\\b", max_tokens: 8 };
  const meaning = { near: ["a cat", "a kitten"] as [string, string], far: "taxes" };
  const v = (...values: number[]): Float32Array => Float32Array.from(values);
  const judge = (...vectors: Float32Array[]) => judgeCanary(meaning, { text: "", vectors });

  test("accept an answer that matches their pattern", () => {
    assert.deepEqual(questionFromCanary(sum).messages, [{ role: "user", content: "7 + 5?" }]);
    assert.equal(judgeCanary(sum, { text: "It is 12.", vectors: [] }), undefined);
    for (const text of ["", "It is 112.", "twelve"]) {
      assert.equal(judgeCanary(sum, { text, vectors: [] }), "unexpected answer");
    }
  });

  test("for embeddings require meaningful vectors: similar for similar texts, equal for equal texts, only finite numbers", () => {
    assert.deepEqual(questionFromCanary(meaning).texts, ["a cat", "a kitten", "taxes", "a cat"]);
    const [cat, kitten, taxes] = [v(1, 0.1), v(0.9, 0.2), v(0, 1)];
    assert.equal(judge(cat, kitten, taxes, cat), undefined);
    assert.equal(judge(cat, taxes, kitten, cat), "vectors of unrelated texts are closer than those of related ones");
    assert.equal(judge(cat, cat, cat, cat), "vectors of unrelated texts are closer than those of related ones");
    assert.equal(judge(cat, kitten, taxes, kitten), "two vectors of the same text differ");
    assert.equal(judge(cat, kitten, v(Number.NaN, 1), cat), "vectors contain values that are not numbers");
    assert.equal(judge(cat, kitten, v(0, 0), cat), "vectors contain values that are not numbers");
    assert.equal(judge(cat, kitten), "missing vectors");
  });
});
