/** All behaviors that are checked, in order. The first three set up the node. */
import type { Outcome } from "../outcome.ts";
import type { Stage } from "../stage/stage.ts";
import { chat, completion, embeddings, stream } from "./answers.ts";
import { parallel } from "./at-once.ts";
import { cancel } from "./cancel.ts";
import { contextEnd, longPrompt } from "./context.ts";
import type { BehaviourName } from "./names.ts";
import { capOutput, checkSeed, checkStopStrings } from "./request-parameters.ts";
import { restart } from "./restart.ts";
import { doctor, elect, up } from "./setting-up.ts";
import { jsonObject, jsonSchema } from "./structured.ts";

export const SETTING_UP = { elect, doctor, up };

export const BEHAVIOURS = {
  chat,
  stream,
  completion,
  embeddings,
  stop: checkStopStrings,
  seed: checkSeed,
  cap: capOutput,
  "long prompt": longPrompt,
  "context end": contextEnd,
  json_object: jsonObject,
  json_schema: jsonSchema,
  parallel,
  cancel,
  restart,
} satisfies Record<BehaviourName, (stage: Stage) => Promise<Outcome>>;
