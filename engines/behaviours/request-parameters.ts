/** Checks the request parameters for stop strings, the seed and the output length. */
import { type CheckOutcome, expectSame, expectTrue, okOutcome } from "../outcome.ts";
import type { Stage } from "../stage/stage.ts";
import { GREEDY_SAMPLING, QUESTION } from "./answer-checks.ts";

/** Checks stop strings that begin and end inside a word, or span two words. */
export async function checkStopStrings({ builder }: Stage): Promise<CheckOutcome> {
  const { text } = await builder.chat(QUESTION, GREEDY_SAMPLING);
  const words = [...text.matchAll(/\S+/g)].filter(({ 0: word }) => /^[a-z]{4,}$/.test(word));
  const inside = words.map(({ 0: word }) => word.slice(1, -1));
  const across = words.map(({ 0: word, index }) => text.slice(index + word.length - 2, index + word.length + 3));
  for (const [where, strings] of Object.entries({ inside, across })) {
    // Chooses a string that is far enough in the text to have some output before it.
    const string = strings.find((candidate) => candidate.length >= 2 && text.indexOf(candidate) > 8);
    expectTrue(string !== undefined, `the answer has no string to stop at: ${JSON.stringify(text)}`);
    const promised = [text.slice(0, text.indexOf(string)), "stop"];
    const whole = await builder.chat(QUESTION, { ...GREEDY_SAMPLING, stop: [string] });
    expectSame(`${where} tokens, at ${JSON.stringify(string)}`, [whole.text, whole.finish], promised);
    const streamed = await builder.streamChat(QUESTION, { ...GREEDY_SAMPLING, stop: ["nowhere", string] });
    expectSame(`${where} tokens, streamed, at ${JSON.stringify(string)}`, [streamed.text, streamed.finish], promised);
  }
  return okOutcome();
}

export async function checkSeed({ builder }: Stage): Promise<CheckOutcome> {
  const answerOf = async (seed: number): Promise<string> =>
    (await builder.chat(QUESTION, { temperature: 1, max_tokens: GREEDY_SAMPLING.max_tokens, seed })).text;
  const [first, again, other] = [await answerOf(7), await answerOf(7), await answerOf(8)];
  expectSame("the same seed again", again, first);
  expectTrue(other !== first, "another seed has the same answer");
  return okOutcome();
}

export async function checkOutputCap({ engine, builder }: Stage): Promise<CheckOutcome> {
  const { text } = await builder.chat(QUESTION, GREEDY_SAMPLING);
  const whole = engine.endsItself ? 17 : tokensOf(text.split(" ").slice(0, 16));
  for (const tokens of [1, whole]) {
    const { finish, usage } = await builder.chat(QUESTION, { temperature: 0, max_tokens: tokens });
    expectSame(`max_tokens ${tokens}: finish and tokens`, [finish, usage.completion_tokens], ["length", tokens]);
  }
  return okOutcome();
}

/** Counts the tokens of words and smileys. A smiley has two tokens, and a cap between them would cut a character. */
function tokensOf(words: string[]): number {
  return words.reduce((sum, word) => sum + (/^[a-z]+$/i.test(word) ? 1 : word === "" ? 0 : 2), 0);
}
