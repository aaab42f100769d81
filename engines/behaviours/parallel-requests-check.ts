/**
 * Checks that the node handles as many concurrent requests as it announces: all are in flight before the first ends.
 */
import { type CheckOutcome, expectSame, expectTrue, okOutcome } from "../outcome.ts";
import type { Stage } from "../stage/stage.ts";
import { QUESTION } from "./answer-checks.ts";

const TOKENS = 200;

export async function checkParallelRequests({ engine, builder }: Stage): Promise<CheckOutcome> {
  let begun = 0;
  let begunAtFirstEnd: number | undefined;
  const one = async (i: number): Promise<string> => {
    let isFirst = true;
    const onPiece = (): void => {
      if (isFirst) begun++;
      isFirst = false;
    };
    const more = { temperature: 0, max_tokens: TOKENS };
    const { text } = await builder.streamChat(`${QUESTION} and ${i} hens`, more, { onPiece });
    begunAtFirstEnd ??= begun;
    return text;
  };
  const texts = await Promise.all(Array.from({ length: engine.slots }, (_, i) => one(i)));
  expectSame("requests under way when the first ended", begunAtFirstEnd, engine.slots);
  expectTrue(
    texts.every((text) => text.trim() !== ""),
    "an answer is empty",
  );
  // Sends one request more than the engine runs at a time. It must wait and then be served.
  const queued = await Promise.all(
    Array.from({ length: engine.slots + 1 }, () => builder.chat(QUESTION, { max_tokens: 8 })),
  );
  return okOutcome(`${queued.length - 1} at once`);
}
