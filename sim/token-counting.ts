/**
 * Loads the real token counter of the simulated models, and checks that each of the simulator's words is one token.
 * Must run before virtual time begins.
 */
import { invariant } from "../gateway/src/base/invariant.ts";
import { openTokenMeter } from "../gateway/src/metering/metering.ts";
import type { TokenMeter } from "../gateway/src/metering/token-meter.ts";
import { loadTables } from "../gateway/src/metering/tokenizers.ts";
import { makeSentence } from "./world/one-token-words.ts";

export interface TokenCounting {
  meter: TokenMeter;
  /** The number of tokens that the chat template adds to a prompt of one message. */
  templateTokens: number;
  /** The fixed number of tokens that each text to embed has besides its words, which are one token each. */
  textTokens: number;
}

export async function loadTokenCounting(): Promise<TokenCounting> {
  const meter = openTokenMeter("llama3", await loadTables("llama3"), null);
  const promptOf = async (words: number): Promise<number> => {
    const messages = [{ role: "user", content: makeSentence(0, words).trim() }];
    return (await meter.countPrompt({ kind: "chat", messages }, 10_000)).tokens;
  };
  const templateTokens = (await promptOf(1)) - 1;
  invariant((await promptOf(40)) === templateTokens + 40, "a word of a prompt is a token");
  const textsOf = async (words: number): Promise<number> => {
    const texts = Array.from({ length: 10 }, (_, i) => makeSentence(i, words));
    return (await meter.countPrompt({ kind: "texts", texts }, 10_000)).tokens / texts.length;
  };
  const textTokens = (await textsOf(1)) - 1;
  invariant((await textsOf(7)) === textTokens + 7, "a word of a text to embed is a token");
  const output = meter.openOutput(1_000);
  output.push("answer", makeSentence(3, 40));
  invariant(output.end().answerTokens === 40, "a word of an answer is a token");
  return { meter, templateTokens, textTokens };
}
