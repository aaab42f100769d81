/** All behaviors that are checked, in order. The first three set up the node. */
import type { CheckOutcome } from "../outcome.ts";
import type { Stage } from "../stage/stage.ts";
import { checkChat, checkCompletion, checkEmbeddings, checkStream } from "./answer-checks.ts";
import type { BehaviourName } from "./behaviour-names.ts";
import { checkCancel } from "./cancel-check.ts";
import { checkContextLimit, checkLongPrompt } from "./context-limit.ts";
import { checkRestart } from "./engine-restart-check.ts";
import { checkParallelRequests } from "./parallel-requests-check.ts";
import { checkOutputCap, checkSeed, checkStopStrings } from "./request-parameters.ts";
import { checkDoctorCommand, checkElectCommand, checkUpCommand } from "./setup-commands.ts";
import { checkJsonObject, checkJsonSchema } from "./structured-output.ts";

export const SETUP_CHECKS = { elect: checkElectCommand, doctor: checkDoctorCommand, up: checkUpCommand };

export const BEHAVIOUR_CHECKS = {
  chat: checkChat,
  stream: checkStream,
  completion: checkCompletion,
  embeddings: checkEmbeddings,
  stop: checkStopStrings,
  seed: checkSeed,
  cap: checkOutputCap,
  "long prompt": checkLongPrompt,
  "context end": checkContextLimit,
  json_object: checkJsonObject,
  json_schema: checkJsonSchema,
  parallel: checkParallelRequests,
  cancel: checkCancel,
  restart: checkRestart,
} satisfies Record<BehaviourName, (stage: Stage) => Promise<CheckOutcome>>;
