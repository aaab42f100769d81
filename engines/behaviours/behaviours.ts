/** All behaviors that are checked, in order. The first three set up the node. */
import type { Outcome } from "../outcome.ts";
import type { Stage } from "../stage/stage.ts";
import { checkChat, checkCompletion, checkEmbeddings, checkStream } from "./answers.ts";
import { checkCancel } from "./cancel.ts";
import { checkContextEnd, checkLongPrompt } from "./context.ts";
import type { BehaviourName } from "./names.ts";
import { checkParallel } from "./parallel.ts";
import { checkOutputCap, checkSeed, checkStopStrings } from "./request-parameters.ts";
import { checkRestart } from "./restart.ts";
import { checkDoctor, checkElect, checkUp } from "./setting-up.ts";
import { checkJsonObject, checkJsonSchema } from "./structured.ts";

export const SETTING_UP = { elect: checkElect, doctor: checkDoctor, up: checkUp };

export const BEHAVIOURS = {
  chat: checkChat,
  stream: checkStream,
  completion: checkCompletion,
  embeddings: checkEmbeddings,
  stop: checkStopStrings,
  seed: checkSeed,
  cap: checkOutputCap,
  "long prompt": checkLongPrompt,
  "context end": checkContextEnd,
  json_object: checkJsonObject,
  json_schema: checkJsonSchema,
  parallel: checkParallel,
  cancel: checkCancel,
  restart: checkRestart,
} satisfies Record<BehaviourName, (stage: Stage) => Promise<Outcome>>;
