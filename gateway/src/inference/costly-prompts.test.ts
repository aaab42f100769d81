import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createLog } from "../base/log.ts";
import { Fault } from "../faults.ts";
import { type ActiveModel, type Catalogue, loadCatalogue } from "../metering/catalogue.ts";
import { openTokenMetering, type TokenMetering } from "../metering/metering.ts";
import { chat } from "../routes/openai/chat.ts";
import { completions } from "../routes/openai/completions.ts";
import { embeddings } from "../routes/openai/embeddings.ts";
import { countPromptTokens } from "./admit.ts";
import { PROMPT_CHARS_FREE, SPECIAL_TOKENS_MAX } from "./costly-prompts.ts";
import type { ParsedRequest } from "./endpoint.ts";
import { CHARACTER_RUN_MAX } from "./long-character-runs.ts";

describe("prompts that cost an engine more than their tokens say", () => {
  let catalogue: Catalogue;
  let metering: TokenMetering;
  before(async () => {
    catalogue = await loadCatalogue(new URL("../../catalogue/models.json", import.meta.url));
    metering = await openTokenMetering({ log: createLog("silent") });
  });
  after(() => metering.close());

  /** Returns the message of the 400, or the number of tokens if the prompt is accepted. */
  const outcomeOf = async (ask: ParsedRequest): Promise<string | number> => {
    const model = catalogue.active.get(ask.model) as ActiveModel;
    const meter = metering.meter(model.build.tokenizer) ?? assert.fail();
    return await countPromptTokens(meter, model, ask).catch((error: unknown) => {
      assert.ok(error instanceof Fault && error.status === 400, String(error));
      return `${error.body().error.param}: ${error.message}`;
    });
  };
  const inChat = (content: string, model = "mid-14b") =>
    outcomeOf(chat.parse({ model, messages: [{ role: "user", content }] }));
  const inCompletion = (prompt: string) => outcomeOf(completions.parse({ model: "mid-14b", prompt }));
  const inEmbedding = (input: string[]) => outcomeOf(embeddings.parse({ model: "embed-m3", input }, null));
  /** Spaces in runs that are short enough for the limit on runs, each ended by a letter. */
  const padding = (chars: number): string => `${" ".repeat(CHARACTER_RUN_MAX - 1)}a`.repeat(chars / CHARACTER_RUN_MAX);
  const REFUSED =
    /^(messages|prompt|input): "\1" must have at most 65536 characters, and 16 more for each token\. It has \d+ characters in \d+ tokens\./;

  test("are refused if they consist of padding, on every endpoint, with the field and the rule", async () => {
    assert.match(String(await inChat(padding(200_000))), REFUSED);
    assert.match(String(await inCompletion(padding(200_000))), REFUSED);
    assert.match(String(await inEmbedding([padding(200_000)])), REFUSED);
    assert.match(String(await inEmbedding(Array.from({ length: 16 }, () => padding(CHARACTER_RUN_MAX)))), REFUSED);
    assert.match(String(await inEmbedding(["\ud800\ud801".repeat(100_000)])), REFUSED);
  });

  test("are accepted up to 65,536 characters, whatever they consist of", async () => {
    assert.equal(typeof (await inChat(padding(PROMPT_CHARS_FREE))), "number");
    assert.equal(typeof (await inEmbedding([padding(PROMPT_CHARS_FREE)])), "number");
  });

  test("are accepted if they are prose, code, or tables with wide columns, of any length", async () => {
    const row = `${["name", "amount", "state", "comment"].map((cell) => cell.padEnd(30)).join("|")}\n`;
    for (const text of [
      "The quick brown fox jumps over the lazy dog. ".repeat(2_500),
      "        return value;\n".repeat(5_000),
      row.repeat(1_000),
    ]) {
      assert.ok(text.length > PROMPT_CHARS_FREE);
      assert.equal(typeof (await inChat(text)), "number", text.slice(0, 20));
    }
  });

  test("are refused if they spell out more than 256 special tokens, in all messages together", async () => {
    const refused = `"messages" must not have more than ${SPECIAL_TOKENS_MAX} special tokens such as <|eot_id|> in its text. Remove some.`;
    for (const token of ["<|eot_id|>", "<|im_start|>", "<tool_call>", "<|reserved_special_token_5|>"]) {
      assert.equal(typeof (await inChat(token.repeat(SPECIAL_TOKENS_MAX), "tiny-3b")), "number");
      assert.equal(await inChat(`${token} `.repeat(SPECIAL_TOKENS_MAX + 1), "tiny-3b"), `messages: ${refused}`);
    }
    const half = { role: "user", content: "<|eot_id|>".repeat(SPECIAL_TOKENS_MAX / 2) };
    const ask = chat.parse({ model: "tiny-3b", messages: [half, half, { role: "user", content: "<|eot_id|>" }] });
    assert.equal(await outcomeOf(ask), `messages: ${refused}`);
  });

  test("are not refused for source code whose operators or tags only begin like special tokens", async () => {
    assert.equal(typeof (await inChat('div [] <| text "a" |> view <| b\n'.repeat(1_000))), "number");
    assert.equal(typeof (await inEmbedding(["<s>old</s> price ".repeat(1_000)])), "number");
  });
});
