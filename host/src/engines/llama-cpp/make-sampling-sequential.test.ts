import assert from "node:assert/strict";
import { test } from "node:test";
import type { LlamaContext } from "node-llama-cpp";
import { makeSamplingSequential } from "./make-sampling-sequential.ts";

/** A context with only the parts that the code accesses. */
const contextOf = (inner: object): LlamaContext => ({ _ctx: inner }) as unknown as LlamaContext;

test("token sampling runs for one sequence at a time, in the order of the calls, even if one call fails", async () => {
  const open: { name: string; end: PromiseWithResolvers<string> }[] = [];
  const inner = {
    tag: "inner",
    sampleToken(this: { tag: string }, name: string): Promise<string> {
      assert.equal(this.tag, "inner");
      const end = Promise.withResolvers<string>();
      open.push({ name, end });
      return end.promise;
    },
  };
  makeSamplingSequential(contextOf(inner));
  const sampled = ["a", "b", "c"].map((name) => inner.sampleToken(name));
  const failed = assert.rejects(sampled[1] as Promise<string>, /b failed/);
  for (const name of ["a", "b", "c"]) {
    await new Promise(setImmediate);
    assert.deepEqual(
      open.map((sampling) => sampling.name),
      [name],
      "one at a time",
    );
    const { end } = open.pop() as (typeof open)[number];
    if (name === "b") end.reject(new Error("b failed"));
    else end.resolve(`${name}!`);
  }
  assert.deepEqual([await sampled[0], await sampled[2]], ["a!", "c!"]);
  await failed;
});

test("refuses a version of node-llama-cpp that lacks sampleToken()", () => {
  assert.throws(() => makeSamplingSequential(contextOf({})), /lacks sampleToken\(\)/);
});
