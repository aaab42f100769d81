/**
 * Checks long prompts and the limit of the context, which prompt and output share: a request that fits is served to the
 * last token.
 */
import { type CheckOutcome, expectSame, okOutcome, unsupportedOutcome } from "../outcome.ts";
import type { BuilderClient } from "../stage/builder-client.ts";
import type { Stage } from "../stage/stage.ts";

const CONTEXT_TOKENS = 8192;
const LEFT_TOKENS = 8;
const WORD = " house";

export async function checkLongPrompt({ engine, builder }: Stage): Promise<CheckOutcome> {
  const words = Math.floor(((engine.contextTokens ?? CONTEXT_TOKENS) * 3) / 4);
  const { finish, usage } = await builder.chat(WORD.repeat(words), { temperature: 0, max_tokens: 8 });
  expectSame("finish and tokens", [finish, usage.completion_tokens], ["length", 8]);
  return okOutcome(`${usage.prompt_tokens} tokens`);
}

export async function checkContextLimit({ engine, builder }: Stage): Promise<CheckOutcome> {
  if (engine.contextTokens !== undefined) return await expectShortened(engine.contextTokens, builder);
  const short = await builder.chat(WORD, { max_tokens: 1 });
  const words = CONTEXT_TOKENS - LEFT_TOKENS - short.usage.prompt_tokens + 1;
  // Sends parts of the prompt first, because engines cache them: on a slow machine, reading the whole prompt at once
  // could look like a hang.
  for (const part of [0.25, 0.5, 0.75]) await builder.chat(WORD.repeat(Math.floor(words * part)), { max_tokens: 1 });
  for (const more of [{}, { max_tokens: 4 * LEFT_TOKENS }]) {
    const { finish, usage } = await builder.chat(WORD.repeat(words), { temperature: 0, ...more });
    const found = [finish, usage.prompt_tokens, usage.completion_tokens];
    expectSame(`${JSON.stringify(more)}: finish, prompt, output`, found, [
      "length",
      CONTEXT_TOKENS - LEFT_TOKENS,
      LEFT_TOKENS,
    ]);
  }
  return okOutcome();
}

/** Checks that an engine with a shorter context answers a longer prompt, and reads its beginning and its end. */
async function expectShortened(contextTokens: number, builder: BuilderClient): Promise<CheckOutcome> {
  const { usage } = await builder.chat(WORD.repeat(2 * contextTokens), { max_tokens: 1 });
  expectSame("output tokens", usage.completion_tokens, 1);
  return unsupportedOutcome(`it reads ${contextTokens} tokens of a longer prompt`);
}
