/**
 * `tollgate-host try`: sends a free private request to the host's own node, through the gateway like a builder's
 * request.
 */

import type { CommandInput } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import type { Paint } from "@tollgate/terminal/terminal-text.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";
import { formatCounted, formatMilliseconds, formatPerSecond } from "./format-values.ts";
import type { NodeTrialResult } from "./gateway/gateway-answers.ts";
import { chooseNodeId, type LoginSession, openLoginSession } from "./login-session.ts";
import { NODE_FLAG, parseWholeNumber } from "./parse-arguments.ts";

/** The gateway's limit of output tokens for a try. */
const TOKENS_MAX = 512;

export const tryNodeCommand: Command = {
  help: "send a test request to your own node",
  flags: {
    model: { value: "MODEL", help: "the model to ask (default: the first that the node serves)" },
    prompt: { value: "TEXT", help: "the prompt (default: a short question)" },
    "max-tokens": { value: "N", help: `how long the answer may be, 1 to ${TOKENS_MAX} tokens (default: 128)` },
    ...NODE_FLAG,
  },
  more: [
    "The request takes the same path as a builder's: gateway, dispatch plane, node, engine. It is not billed and not recorded.",
  ],
  example: '--model tiny-3b --prompt "Say hello"',
  run,
};

async function run({ flags, json }: CommandInput, context: CommandContext): Promise<number> {
  const mistakes: string[] = [];
  const maxTokens = parseWholeNumber(
    "max-tokens",
    flags["max-tokens"],
    { min: 1, max: TOKENS_MAX },
    (mistake) => void mistakes.push(mistake),
  );
  if (flags.prompt === "") mistakes.push("--prompt must not be empty");
  if (mistakes.length > 0) throw new UsageError(mistakes);

  const session = await openLoginSession(context);
  const node = chooseNodeId(session, flags.node);
  const model = flags.model ?? (await firstModel(session, node));
  const trial = await session.gateway.tryNode(node, { model, prompt: flags.prompt, max_tokens: maxTokens });
  printResult(context, json, trial, () => trialLines(trial, context.terminal.paint));
  return 0;
}

async function firstModel({ gateway }: LoginSession, node: string): Promise<string> {
  const { models } = await gateway.node(node);
  const [first] = models;
  if (first === undefined)
    throw new CommandError("no models are chosen for this node", {
      next: "tollgate-host elect chooses the models to serve",
    });
  return first;
}

// Characters that could control the terminal. Only these are removed from the answer.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters but tab and newline
const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

const printable = (text: string): string => text.replaceAll(STEERING, "");

function trialLines(trial: NodeTrialResult, paint: Paint): string[] {
  const body =
    trial.vectors == null
      ? printable(trial.text ?? "")
      : `${formatCounted(trial.vectors.count, "vector")} of ${trial.vectors.width} numbers`;
  const speed = [
    trial.ttft_ms === null ? undefined : `first token ${formatMilliseconds(trial.ttft_ms)}`,
    trial.tps === null ? undefined : formatPerSecond(trial.tps),
    `${trial.prompt_tokens} + ${formatCounted(trial.completion_tokens, "token")}`,
    trial.finish_reason == null ? undefined : `ended by ${trial.finish_reason}`,
  ];
  const thought = trial.vendor_reasoning_content ? [paint.dim(printable(trial.vendor_reasoning_content)), ""] : [];
  return [...thought, body, "", `${trial.model}: ${speed.filter((part) => part !== undefined).join(", ")}`];
}
