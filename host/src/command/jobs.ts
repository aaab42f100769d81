/** `tollgate-host jobs`: lists a node's jobs, one line each, without prompts or names of builders. */
import type { CommandInput } from "@tollgate/terminal/command.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { alignRows, sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";
import { formatCount, formatDollarColumn, formatMilliseconds, formatUtcTime } from "./format-values.ts";
import type { Job } from "./gateway/gateway-answers.ts";
import { chooseNodeId, openLoginSession } from "./login-session.ts";
import { NODE_FLAG, parseWholeNumber } from "./parse-arguments.ts";

const SHOWN = 20;
const LIMIT_MAX = 100;

export const jobsCommand: Command = {
  help: "list the node's jobs and how each ended",
  flags: {
    ...NODE_FLAG,
    model: { value: "MODEL", help: "only jobs of this model" },
    outcome: {
      value: "OUTCOME",
      help: "only jobs with this outcome: ok, upstream_failed, upstream_stall, client_closed, …",
    },
    limit: { value: "N", help: `how many jobs to show, 1 to ${LIMIT_MAX} (default: ${SHOWN})` },
  },
  more: ["Failed jobs are included. Prompts, answers and builders are never shown."],
  example: "--outcome upstream_failed --limit 50",
  run,
};

async function run({ flags, json }: CommandInput, context: CommandContext): Promise<number> {
  const mistakes: string[] = [];
  const limit = parseWholeNumber(
    "limit",
    flags.limit,
    { min: 1, max: LIMIT_MAX },
    (mistake) => void mistakes.push(mistake),
  );
  if (mistakes.length > 0) throw new UsageError(mistakes);
  const session = await openLoginSession(context);
  const query = {
    model: flags.model,
    outcome: flags.outcome as Job["outcome"] | undefined,
    limit: String(limit ?? SHOWN),
  };
  const { data, next_cursor } = await session.gateway.jobs(chooseNodeId(session, flags.node), query);
  printResult(context, json, { object: "list", data, more: next_cursor != null }, () =>
    data.length === 0
      ? ["no jobs match"]
      : [...jobLines(data), ...(next_cursor == null ? [] : ["", "there are more jobs; show them with --limit N"])],
  );
  return 0;
}

function jobLines(jobs: Job[]): string[] {
  const amounts = formatDollarColumn(jobs.map(({ earned_micro }) => earned_micro));
  return alignRows(
    [
      ["finished (UTC)", "request", "model", "prompt", "output", "first token", "took", "earned", "outcome"],
      ...jobs.map((job, i) => [
        formatUtcTime(job.finished_at),
        job.request_id,
        job.model ?? "–",
        formatCount(job.prompt_tokens),
        formatCount(job.completion_tokens),
        job.ttft_ms === null ? "–" : formatMilliseconds(job.ttft_ms),
        job.duration_ms === null ? "–" : formatMilliseconds(job.duration_ms),
        amounts[i] ?? "",
        job.outcome === "ok" ? "ok" : `${job.outcome}: ${sanitiseForTerminal(job.says)}`,
      ]),
    ],
    ["left", "left", "left", "right", "right", "right", "right", "right", "left"],
  );
}
