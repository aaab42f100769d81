/** Checks plain and streamed answers of both generation endpoints, and embeddings. */
import { type EngineUnderTest, TINY_EMBEDDINGS } from "../engine-under-test.ts";
import { type CheckOutcome, expectSame, expectTrue, okOutcome } from "../outcome.ts";
import type { Answer, StreamedAnswer } from "../stage/builder-client.ts";
import type { Stage } from "../stage/stage.ts";

export const QUESTION = "Tell me a story about a fox";
const TOKENS = 24;
export const GREEDY_SAMPLING = { temperature: 0, max_tokens: TOKENS };

/** Checks that the answer is complete, and that the gateway and the engine count the same prompt tokens. */
export async function checkChat({ engine, builder, url }: Stage): Promise<CheckOutcome> {
  const answer = await fullAnswer(engine, (max_tokens) => builder.chat(QUESTION, { ...GREEDY_SAMPLING, max_tokens }));
  const counted = await engine.promptTokens?.(url, [{ role: "user", content: QUESTION }]);
  if (counted !== undefined) expectSame("tokens of the prompt", answer.usage.prompt_tokens, counted);
  return okOutcome();
}

/**
 * Gets an answer with exactly the requested number of tokens. It is one token shorter if a two-token smiley would
 * exceed the number.
 */
async function fullAnswer(
  { endsItself = false }: EngineUnderTest,
  ask: (tokens: number) => Promise<Answer>,
): Promise<Answer> {
  const answer = await ask(TOKENS);
  const { text, finish, usage } = answer;
  expectTrue(text.trim() !== "", "the answer is empty");
  expectTrue(!text.includes("\uFFFD"), `a character is broken in ${JSON.stringify(text)}`);
  if (endsItself && finish === "stop") return answer;
  const isCut = usage.completion_tokens === TOKENS - 1 && /\p{Emoji_Presentation}$/u.test((await ask(TOKENS + 1)).text);
  expectSame("finish_reason and tokens", [finish, usage.completion_tokens], ["length", isCut ? TOKENS - 1 : TOKENS]);
  return answer;
}

/** Checks that a streamed answer has the same text as the plain one. */
export async function checkStream({ builder }: Stage): Promise<CheckOutcome> {
  expectSameAnswer(await builder.streamChat(QUESTION, GREEDY_SAMPLING), await builder.chat(QUESTION, GREEDY_SAMPLING));
  const longer = { ...GREEDY_SAMPLING, max_tokens: 4 * TOKENS };
  expectSameAnswer(await builder.streamChat(QUESTION, longer), await builder.chat(QUESTION, longer));
  return okOutcome();
}

function expectSameAnswer(streamed: StreamedAnswer, whole: Answer): void {
  expectTrue(streamed.pieces.length > 1, `the stream came in ${streamed.pieces.length} pieces`);
  expectSame("the stream's text", streamed.text, whole.text);
  expectSame("the stream's end and counts", [streamed.finish, streamed.usage], [whole.finish, whole.usage]);
}

export async function checkCompletion({ engine, builder }: Stage): Promise<CheckOutcome> {
  const prompt = "Once upon a time";
  const whole = await fullAnswer(engine, (max_tokens) => builder.complete(prompt, { ...GREEDY_SAMPLING, max_tokens }));
  expectSameAnswer(await builder.streamCompletion(prompt, GREEDY_SAMPLING), whole);
  return okOutcome();
}

export async function checkEmbeddings({ engine, builder }: Stage): Promise<CheckOutcome> {
  const { model, width } = engine.embeds ?? TINY_EMBEDDINGS;
  const [first, other, again] = await builder.embed(model, ["a fox", "a tax filing", "a fox"]);
  expectSame("widths", [first?.length, other?.length], [width, width]);
  expectTrue(first?.every(Number.isFinite) === true, "a vector holds something that is no number");
  const apart = (vector: number[] | undefined): number =>
    Math.max(...(first ?? []).map((value, i) => Math.abs(value - (vector?.[i] ?? Number.NaN))));
  expectTrue(apart(again) < 1e-3, "the same text has two vectors");
  expectTrue(apart(other) > 1e-3, "two texts have the same vector");
  return okOutcome();
}
