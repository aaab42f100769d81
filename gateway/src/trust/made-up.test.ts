import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { systemRandom } from "../base/random.ts";
import { makeUp } from "./made-up.ts";
import { rightAnswer } from "./testing.ts";

const random = systemRandom();
const build = { id: "b", tokenizer: "t" };
const ask = () => makeUp({ kind: "generation", build, contextLimit: 32_768 }, random);
const judge = ({ judge }: ReturnType<typeof ask>, text: string) => judge({ text, vectors: [] });

describe("canaries made up for one asking", () => {
  test("the right answer passes, in whatever words around it and in any case", () => {
    for (let i = 0; i < 2000; i++) {
      const question = ask();
      const [prompt] = question.texts as [string];
      const right = rightAnswer(prompt);
      assert.ok(right !== undefined, prompt);
      for (const text of [right, `${right}.`, `The answer is **${right.toUpperCase()}**.`, ` "${right}"\n`]) {
        assert.equal(judge(question, text), undefined, `${prompt} → ${text}`);
      }
    }
  });

  test("no constant passes, nor the answer of another asking, nor the prompt said back, nor a list", () => {
    const prompts = new Set<string>();
    let lucky = 0;
    for (let i = 0; i < 2000; i++) {
      const [question, other] = [ask(), ask()];
      const [prompt] = question.texts as [string];
      prompts.add(prompt);
      for (const text of ["", "12 Paris lighthouse", prompt, Array.from({ length: 1000 }, (_, n) => n).join(" ")]) {
        assert.notEqual(judge(question, text), undefined, `${prompt} → ${text.slice(0, 50)}`);
      }
      if (judge(question, rightAnswer(other.texts[0] as string) ?? "") === undefined) lucky++;
    }
    assert.ok(lucky < 40, `another's answer passed ${lucky} times in 2000`);
    assert.ok(prompts.size > 1000);
  });

  test("short, unless the model thinks first", () => {
    assert.ok(ask().outputTokensMax <= 32);
    const reasoning = { open: "<think>", close: "</think>" };
    assert.ok(
      makeUp({ kind: "generation", build: { ...build, reasoning }, contextLimit: 32_768 }, random).outputTokensMax >
        1000,
    );
  });

  describe("for embeddings", () => {
    const texts = () => makeUp({ kind: "embedding", build, contextLimit: 8192 }, random);
    /** Counts words: the least that an engine which reads its input does. */
    const bagOfWords = (text: string): Float32Array => {
      const vector = new Float32Array(256);
      for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
        const at = [...word].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 256, 7);
        vector[at] = (vector[at] ?? 0) + 1;
      }
      return vector;
    };
    const noise = (): Float32Array => Float32Array.from({ length: 32 }, () => random.below(2001) - 1000);

    test("vectors of what was written pass; one vector for all, or any vector at all, does not", () => {
      let lucky = 0;
      for (let i = 0; i < 300; i++) {
        const question = texts();
        const verdict = (of: (text: string) => Float32Array) =>
          question.judge({ text: "", vectors: question.texts.map(of) });
        assert.equal(verdict(bagOfWords), undefined, question.texts.join(" | "));
        const one = noise();
        assert.notEqual(
          verdict(() => one),
          undefined,
        );
        // One vector for one text, drawn at random: all that an engine can do that does not look at meaning.
        const drawn = new Map<string, Float32Array>();
        const hashed = (text: string): Float32Array => {
          const vector = drawn.get(text) ?? noise();
          drawn.set(text, vector);
          return vector;
        };
        if (verdict(hashed) === undefined) lucky++;
      }
      assert.ok(lucky < 60, `random vectors passed ${lucky} of 300`);
    });
  });
});
