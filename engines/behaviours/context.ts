/** Long prompts, and the end of the context: prompt and output share it, and what fits is served to the last token. */
import { expectSame, type Outcome, ok } from "../outcome.ts";
import type { Stage } from "../stage/stage.ts";

const CONTEXT_TOKENS = 8192;
const LEFT_TOKENS = 8;
const WORD = " house";

export async function longPrompt({ engine, builder }: Stage): Promise<Outcome> {
  const words = Math.floor(((engine.contextTokens ?? CONTEXT_TOKENS) * 3) / 4);
  const { finish, usage } = await builder.chat(WORD.repeat(words), { temperature: 0, max_tokens: 8 });
  expectSame("finish and tokens", [finish, usage.completion_tokens], ["length", 8]);
  return ok(`${usage.prompt_tokens} tokens`);
}

export async function contextEnd({ engine, builder }: Stage): Promise<Outcome> {
  const context = engine.contextTokens ?? CONTEXT_TOKENS;
  const short = await builder.chat(WORD, { max_tokens: 1 });
  const words = context - LEFT_TOKENS - short.usage.prompt_tokens + 1;
  for (const more of [{}, { max_tokens: 4 * LEFT_TOKENS }]) {
    const { finish, usage } = await builder.chat(WORD.repeat(words), { temperature: 0, ...more });
    const found = [finish, usage.prompt_tokens, usage.completion_tokens];
    expectSame(`${JSON.stringify(more)}: finish, prompt, output`, found, [
      "length",
      context - LEFT_TOKENS,
      LEFT_TOKENS,
    ]);
  }
  return ok();
}
