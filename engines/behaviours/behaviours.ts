/** Every behaviour, in the order in which they are tried; the first three set the node up. */
import { no, type Outcome } from "../outcome.ts";
import { Refused } from "../stage/builder.ts";
import type { Stage } from "../stage/stage.ts";
import { chat, completion, embeddings, stream } from "./answers.ts";
import { parallel } from "./at-once.ts";
import { cancel } from "./cancel.ts";
import { contextEnd, longPrompt } from "./context.ts";
import { restart } from "./restart.ts";
import { doctor, elect, up } from "./setting-up.ts";
import { jsonObject, jsonSchema } from "./structured.ts";
import { cap, seed, stop } from "./wishes.ts";

export const SETTING_UP = { elect, doctor, up };

export const BEHAVIOURS = {
  chat,
  stream,
  completion,
  embeddings,
  stop,
  seed,
  cap,
  "long prompt": longPrompt,
  "context end": contextEnd,
  json_object: jsonObject,
  json_schema: jsonSchema,
  parallel,
  cancel,
  restart,
};

export type BehaviourName = keyof typeof BEHAVIOURS;

/**
 * What an engine is documented not to do, it must not do: the node may not announce it, so that no request for it reaches
 * the engine. One that has learnt it fails here, and the table gets better.
 */
export async function expectNot(stage: Stage, name: BehaviourName, reason: string): Promise<Outcome> {
  try {
    await BEHAVIOURS[name](stage);
  } catch (error) {
    if (error instanceof Refused && error.status === 503 && error.code === "no_capacity") return no(reason);
    throw new Error(`documented as "${reason}", so nobody should be asked; but ${(error as Error).message}`);
  }
  throw new Error(`documented as "${reason}", and it works: the suite's list is behind`);
}
