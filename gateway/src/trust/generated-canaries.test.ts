import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readSchema } from "@tollgate/protocol/json-schema.ts";
import { seededRandom } from "../base/testing.ts";
import { type ActiveModel, loadCatalogue } from "../metering/catalogue.ts";
import type { CanaryQuestion } from "./canary.ts";
import { generateCanary } from "./generated-canaries.ts";
import { QUESTION_FAMILIES } from "./questions/families.ts";
import { SCHEMA_KEYWORDS_USED } from "./questions/json-answers.ts";
import { randomChoices } from "./questions/random-choices.ts";
import { pickUsualRequestShape, type RequestShape } from "./questions/request-shapes.ts";

const random = seededRandom(1);
const catalogue = await loadCatalogue(new URL("../../catalogue/models.json", import.meta.url));
const modelOf = (id: string): ActiveModel => catalogue.active.get(id) as ActiveModel;
const ask = (model = "mid-14b"): CanaryQuestion => generateCanary(modelOf(model), random);
const judge = ({ judge }: CanaryQuestion, text: string) => judge({ text, vectors: [] });
const promptOf = ({ messages }: CanaryQuestion): string => messages.map(({ content }) => content).join("\n");
const shapeOf = (shape: Partial<RequestShape>): RequestShape => ({
  ...pickUsualRequestShape(randomChoices(random)),
  ...shape,
});
const GENERATION = ["tiny-3b", "small-8b", "mid-14b", "reason-32b"];

describe("generated canaries", () => {
  test("accept the right answer with any wording around it and in any case", () => {
    for (let i = 0; i < 2000; i++) {
      const question = ask();
      const right = question.answer as string;
      for (const text of [right, `${right}.`, `The answer is **${right.toUpperCase()}**.`, ` "${right}"\n`]) {
        assert.equal(judge(question, text), undefined, `${promptOf(question)} → ${text}`);
      }
    }
  });

  test("refuse constants, answers to other canaries, repetitions of the prompt, and lists of possible answers", () => {
    const prompts = new Set<string>();
    let [lucky, constant] = [0, 0];
    for (let i = 0; i < 2000; i++) {
      const [question, other] = [ask(), ask()];
      const prompt = promptOf(question);
      prompts.add(prompt);
      for (const text of ["", prompt, Array.from({ length: 1000 }, (_, n) => n).join(" ")]) {
        assert.notEqual(judge(question, text), undefined, `${prompt} → ${text.slice(0, 50)}`);
      }
      if (judge(question, other.answer ?? "") === undefined) lucky++;
      if (judge(question, "12 Paris lighthouse") === undefined) constant++;
    }
    assert.ok(constant < 40, `a constant passed ${constant} times in 2000`);
    assert.ok(lucky < 40, `another's answer passed ${lucky} times in 2000`);
    assert.equal(prompts.size, 2000, "no two are the same");
  });

  test("accept the right number in words or digits, even if the answer also contains intermediate steps of the calculation", () => {
    const stories = Array.from({ length: 5000 }, () => ask()).filter(({ family }) => family === "story");
    assert.ok(stories.length > 100);
    for (const question of stories) {
      const value = Number(question.answer);
      // A second number in an answer makes it wrong unless the prompt contains that number. No prompt contains this
      // one.
      const other = 100_003;
      assert.ok(!promptOf(question).includes(String(other)));
      assert.equal(judge(question, `So ${value} are left.`), undefined);
      assert.equal(judge(question, `${value} or maybe ${other}`), "more than one answer");
      assert.equal(judge(question, `${other}`), "unexpected answer");
    }
  });

  test("use every question family that the model's size can answer, and no other family", () => {
    for (const id of GENERATION) {
      const model = modelOf(id);
      const seen = new Set(Array.from({ length: 800 }, () => generateCanary(model, random).family));
      const can = QUESTION_FAMILIES.filter(({ rates }) => rates[model.class as "tiny"] !== null).map(
        ({ name }) => name,
      );
      assert.deepEqual([...seen].sort(), can.sort(), id);
      assert.ok(can.length >= 10, id);
    }
  });

  test("stop using a question family that the fleet's honest nodes fail", () => {
    const rateOf = (family: string, rate: number): number => (family === "table" || family === "note" ? 0.4 : rate);
    const seen = new Set(
      Array.from({ length: 800 }, () => generateCanary(modelOf("tiny-3b"), random, { rateOf }).family),
    );
    assert.ok(seen.size > 5 && !seen.has("table") && !seen.has("note"), [...seen].join(" "));
  });

  test("have the prompt lengths and style of user requests", () => {
    const questions = Array.from({ length: 2000 }, () => ask());
    const chars = questions.map((question) => promptOf(question).length).sort((a, b) => a - b);
    const [low, middle, high] = [0.05, 0.5, 0.95].map(
      (part) => (chars[Math.floor(part * chars.length)] as number) / 4.6,
    );
    assert.ok(
      (low as number) < 90 && (middle as number) > 120 && (middle as number) < 450 && (high as number) > 1000,
      `${low} ${middle} ${high}`,
    );
    const part = (of: (question: CanaryQuestion) => boolean): number => questions.filter(of).length / questions.length;
    for (const share of [
      part(({ stream }) => stream === true),
      part(({ messages }) => messages[0]?.role === "system"),
      part(({ messages }) => messages.length > 2),
      part(({ sampling }) => sampling?.temperature === undefined),
    ]) {
      assert.ok(share > 0.1 && share < 0.8, `${share}`);
    }
    assert.ok(new Set(questions.map(({ outputTokensMax }) => outputTokensMax)).size > 8);
  });

  test("use the sampling options and output cap of a user request, unless these would prevent a correct answer", () => {
    const shape = shapeOf({ promptTokens: 1500, outputTokensMax: 700, sampling: { temperature: 0.3 }, stream: false });
    for (let i = 0; i < 100; i++) {
      const question = generateCanary(modelOf("small-8b"), random, { shape });
      const tokens = promptOf(question).length / 4.6;
      assert.ok(tokens > 1200 && tokens < 2200, `${tokens}`);
      assert.deepEqual(
        [question.outputTokensMax, question.stream, question.sampling],
        [700, false, { temperature: 0.3 }],
      );
    }
    const tiny = generateCanary(modelOf("small-8b"), random, {
      shape: { ...shape, outputTokensMax: 1, sampling: { temperature: 2 } },
    });
    assert.deepEqual([tiny.outputTokensMax, tiny.sampling], [64, { temperature: 1 }]);
    const sampling = { top_p: 0.9, seed: 42, presence_penalty: 2, frequency_penalty: -1 };
    const bent = generateCanary(modelOf("small-8b"), random, { shape: { ...shape, sampling } });
    assert.deepEqual(bent.sampling, { ...sampling, presence_penalty: 0.5, frequency_penalty: 0 });
  });

  describe("in the form of a completion", () => {
    const completion = shapeOf({ endpoint: "completion" });
    const drawOne = (rateOf?: (family: string, rate: number) => number): CanaryQuestion =>
      generateCanary(modelOf("mid-14b"), random, { shape: completion, ...(rateOf !== undefined && { rateOf }) });

    test("are one text that ends where the answer begins, and accept a right first line however the text continues", () => {
      for (let i = 0; i < 500; i++) {
        const question = drawOne();
        assert.deepEqual([question.endpoint, question.messages.length, question.isTrial], ["completion", 1, true]);
        assert.match(promptOf(question), /(Answer|The answer|A|Result):$/);
        const right = question.answer as string;
        assert.equal(
          judge(question, ` ${right}\n\nQuestion: How many are 4711 and 12?`),
          undefined,
          promptOf(question),
        );
        assert.notEqual(judge(question, "\nI do not know."), undefined);
      }
    });

    test("become chats again when the fleet's honest nodes fail every family of completions", () => {
      const failed = (family: string, rate: number): number => (family.endsWith(", completed") ? 0.5 : rate);
      assert.deepEqual([drawOne(failed).endpoint, drawOne(failed).isTrial], [undefined, undefined]);
    });
  });

  test("have as many stop strings as a user's request, none of which is in the prompt or in the right answer", () => {
    const drawn = new Set<string>();
    for (let i = 0; i < 500; i++) {
      const question = generateCanary(modelOf("mid-14b"), random, { shape: shapeOf({ stops: i % 5 }) });
      const stop = question.sampling?.stop ?? [];
      assert.equal(stop.length, i % 5);
      assert.equal(new Set(stop).size, stop.length);
      for (const text of stop) {
        drawn.add(text);
        assert.ok(!promptOf(question).includes(text) && !question.answer?.includes(text), text);
      }
    }
    assert.ok(drawn.size > 10, [...drawn].join(" "));
  });

  for (const type of ["json_object", "json_schema"] as const)
    describe(`with the output format ${type}`, () => {
      const drawOne = (rateOf?: (family: string, rate: number) => number): CanaryQuestion =>
        generateCanary(modelOf("mid-14b"), random, { shape: shapeOf({ format: type }), ...(rateOf && { rateOf }) });

      test("accept the right answer as JSON with any white space, and refuse plain text, cut JSON and other answers", () => {
        let lucky = 0;
        for (let i = 0; i < 500; i++) {
          const [question, other] = [drawOne(), drawOne()];
          assert.deepEqual([question.format?.type, question.isTrial, question.endpoint], [type, true, undefined]);
          assert.match(question.family, new RegExp(`, ${type}$`));
          const right = question.answer as string;
          const [[key, value]] = Object.entries(JSON.parse(right)) as [[string, unknown]];
          for (const text of [right, ` {\n  "${key}" : ${JSON.stringify(value)}\n}\n`])
            assert.equal(judge(question, text), undefined, `${promptOf(question)} → ${text}`);
          for (const text of [String(value), right.slice(0, -1), `[${right}]`, "", '"', `${right} ${right}`])
            assert.equal(judge(question, text), "not a JSON object", text);
          assert.equal(judge(question, "{}"), "unexpected answer");
          const numbers = JSON.stringify({ [key]: Array.from({ length: 1000 }, (_, n) => n) });
          assert.notEqual(judge(question, numbers), undefined);
          if (judge(question, other.answer as string) === undefined) lucky++;
        }
        assert.ok(lucky < 15, `another's answer passed ${lucky} times in 500`);
      });

      test("become plain chats when the fleet's honest nodes fail every family of this format", () => {
        const failed = (family: string, rate: number): number => (family.endsWith(`, ${type}`) ? 0.5 : rate);
        assert.deepEqual([drawOne(failed).format, drawOne(failed).isTrial], [undefined, undefined]);
      });
    });

  test("with a schema use only keywords that are checked before a node gets one, and say in some prompts nothing of JSON", () => {
    const questions = Array.from({ length: 300 }, () =>
      generateCanary(modelOf("mid-14b"), random, { shape: shapeOf({ format: "json_schema" }) }),
    );
    const silent = questions.filter((question) => !/JSON/i.test(promptOf(question)));
    assert.ok(silent.length > 50 && silent.length < 250, `${silent.length}`);
    const types = new Set<string>();
    for (const { format, answer } of questions) {
      assert.ok(format?.type === "json_schema");
      const reading = readSchema(format.schema);
      assert.ok(reading.isValid);
      for (const { needs } of reading.uses)
        assert.ok(
          SCHEMA_KEYWORDS_USED.some((keyword) => keyword === needs),
          needs,
        );
      const [[key, value]] = Object.entries(JSON.parse(answer as string)) as [[string, unknown]];
      const { type } = (format.schema.properties as Record<string, { type: string }>)[key] as { type: string };
      types.add(type);
      assert.equal(typeof value === "number" ? "integer" : "string", type);
    }
    assert.deepEqual(types, new Set(["string", "integer"]));
  });

  test("allow enough output tokens for a thinking model", () => {
    assert.ok(ask("reason-32b").outputTokensMax > 4096);
  });

  describe("generated canaries for embedding models", () => {
    const texts = (count = 16) =>
      generateCanary(modelOf("embed-m3"), random, { shape: shapeOf({ endpoint: "embedding", texts: count }) });
    /** An embedding that counts words: the simplest engine that reads its input. */
    const bagOfWords = (text: string): Float32Array => {
      const vector = new Float32Array(256);
      for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
        const at = [...word].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 256, 7);
        vector[at] = (vector[at] ?? 0) + 1;
      }
      return vector;
    };
    const noise = (): Float32Array => Float32Array.from({ length: 32 }, () => random.below(2001) - 1000);

    test("have as many texts as a user's request, at least four, in random order", () => {
      for (const [count, sent] of [
        [1, 4],
        [5, 5],
        [16, 16],
        [40, 40],
        [2048, 64],
      ] as const) {
        const question = texts(count);
        assert.equal(question.texts.length, sent);
        assert.equal(question.judge({ text: "", vectors: question.texts.map(bagOfWords) }), undefined);
        assert.equal(question.judge({ text: "", vectors: [] }), "missing vectors");
      }
      const places = new Set(
        Array.from({ length: 100 }, () => texts().texts.findIndex((text) => text.startsWith("Quarterly"))),
      );
      assert.ok(places.size > 3, "no place always has the unrelated text");
    });

    test("accept meaningful vectors of the given texts, and refuse constant or random vectors", () => {
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
        // Each text gets a random vector, as from an engine that ignores meaning.
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
