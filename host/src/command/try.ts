/** `tollgate-host try`: a private request to one's own node, by the same way a builder's takes. Nobody pays for it. */

import { readFlags, UsageError, wholeNumber } from "./arguments.ts";
import { answer, type Command, type CommandContext } from "./command.ts";
import { CommandError } from "./errors.ts";
import type { Trial } from "./gateway/answers.ts";
import { nodeIdOf, openSession, type Session } from "./session.ts";
import { counted, milliseconds, perSecond } from "./terminal/format.ts";
import type { Paint } from "./terminal/text.ts";

const USAGE = `tollgate-host try: send your own node a request

  --model MODEL     which model; default: the first that the node serves
  --prompt TEXT     what to ask; default: a short question of the gateway's own
  --max-tokens N    at most so many tokens of answer, up to 512; default 128
  --node ID         another node of your account; default: this machine's
  --json            answer as JSON

The request takes the way of a builder's: gateway, dispatch plane, node, engine. It is not
billed and not recorded.`;

const OPTIONS = {
  model: { type: "string" },
  prompt: { type: "string" },
  "max-tokens": { type: "string" },
  node: { type: "string" },
} as const;
/** As the gateway allows for a try. */
const TOKENS_MAX = 512;

export const tryNode: Command = { summary: "send your own node a request", usage: USAGE, run };

async function run(args: string[], context: CommandContext): Promise<number> {
  const flags = readFlags(args, OPTIONS);
  const mistakes: string[] = [];
  const maxTokens = wholeNumber(
    "max-tokens",
    flags["max-tokens"],
    { min: 1, max: TOKENS_MAX },
    (mistake) => void mistakes.push(mistake),
  );
  if (flags.prompt === "") mistakes.push("--prompt must not be empty");
  if (mistakes.length > 0) throw new UsageError(mistakes);

  const session = await openSession(context);
  const node = nodeIdOf(session, flags.node);
  const model = flags.model ?? (await firstModel(session, node));
  const trial = await session.gateway.tryNode(node, { model, prompt: flags.prompt, max_tokens: maxTokens });
  answer(context, flags.json, trial, () => trialLines(trial, context.terminal.paint));
  return 0;
}

async function firstModel({ gateway }: Session, node: string): Promise<string> {
  const { models } = await gateway.node(node);
  const [first] = models;
  if (first === undefined)
    throw new CommandError("the node has elected no model", {
      next: "tollgate-host elect chooses the models to serve",
    });
  return first;
}

// The text is printed as it came, for it is what was asked for; only what could steer the terminal is taken out.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters but tab and newline
const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

const printable = (text: string): string => text.replaceAll(STEERING, "");

function trialLines(trial: Trial, paint: Paint): string[] {
  const body =
    trial.vectors == null
      ? printable(trial.text ?? "")
      : `${counted(trial.vectors.count, "vector")} of ${trial.vectors.width} numbers`;
  const speed = [
    trial.ttft_ms === null ? undefined : `first token ${milliseconds(trial.ttft_ms)}`,
    trial.tps === null ? undefined : perSecond(trial.tps),
    `${trial.prompt_tokens} + ${counted(trial.completion_tokens, "token")}`,
    trial.finish_reason == null ? undefined : `ended by ${trial.finish_reason}`,
  ];
  const thought = trial.vendor_reasoning_content ? [paint.dim(printable(trial.vendor_reasoning_content)), ""] : [];
  return [...thought, body, "", `${trial.model}: ${speed.filter((part) => part !== undefined).join(", ")}`];
}
