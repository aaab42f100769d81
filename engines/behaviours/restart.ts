/** The engine dies in the middle of nothing and comes back: the node leaves, and serves again by itself. */
import { eventually } from "../../e2e/platform.ts";
import { type Outcome, ok } from "../outcome.ts";
import { Refused } from "../stage/builder.ts";
import type { Stage } from "../stage/stage.ts";
import { GREEDY, QUESTION } from "./answers.ts";

const LEAVES_WITHIN_MS = 30_000;
const BACK_WITHIN_MS = 60_000;

export async function restart(stage: Stage): Promise<Outcome> {
  const { engine, host } = stage;
  const isInAgent = engine.start === undefined;
  await (isInAgent ? host.kill() : stage.killEngine());
  await eventually(
    "requests are refused, no node being there",
    async () => (await codeOf(stage)) === "no_capacity",
    LEAVES_WITHIN_MS,
  );
  await (isInAgent ? host.up(stage.upEnv) : stage.startEngine());
  let last = "";
  const isBack = async (): Promise<boolean> => {
    last = await codeOf(stage);
    return last === "ok";
  };
  await eventually("requests are served again", isBack, BACK_WITHIN_MS).catch((error: Error) => {
    throw new Error(`${error.message}; the last was ${last}`);
  });
  return ok();
}

async function codeOf({ builder }: Stage): Promise<string> {
  return await builder.chat(QUESTION, GREEDY).then(
    () => "ok",
    (error: unknown) => {
      if (error instanceof Refused) return error.code;
      throw error;
    },
  );
}
