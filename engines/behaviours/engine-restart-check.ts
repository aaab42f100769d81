/** Checks that the node disconnects when an idle engine dies, and serves again by itself after the engine restarts. */
import { eventually } from "@tollgate/stage/wait.ts";
import { type CheckOutcome, okOutcome } from "../outcome.ts";
import { RequestRefused } from "../stage/builder-client.ts";
import type { Stage } from "../stage/stage.ts";
import { GREEDY_SAMPLING, QUESTION } from "./answer-checks.ts";

export async function checkRestart(stage: Stage): Promise<CheckOutcome> {
  const { engine, host } = stage;
  const isInAgent = engine.start === undefined;
  await (isInAgent ? host.kill() : stage.killEngine());
  await eventually("requests are refused, no node being there", async () => (await codeOf(stage)) === "no_capacity");
  await (isInAgent ? host.up(stage.upEnv) : stage.startEngine());
  let last = "";
  const isBack = async (): Promise<boolean> => {
    last = await codeOf(stage);
    return last === "ok";
  };
  await eventually("requests are served again", isBack).catch((error: Error) => {
    throw new Error(`${error.message}; the last was ${last}`);
  });
  return okOutcome();
}

async function codeOf({ builder }: Stage): Promise<string> {
  return await builder.chat(QUESTION, GREEDY_SAMPLING).then(
    () => "ok",
    (error: unknown) => {
      if (error instanceof RequestRefused) return error.code;
      throw error;
    },
  );
}
