/** `tollgate-host jobs`: what a node worked on, one line each. Never what was asked or who asked. */
import { readFlags, UsageError, wholeNumber } from "./arguments.ts";
import { answer, type Command, type CommandContext } from "./command.ts";
import type { Job } from "./gateway/answers.ts";
import { nodeIdOf, openSession } from "./session.ts";
import { count, dollarColumn, milliseconds, utcTime } from "./terminal/format.ts";
import { sanitise, table } from "./terminal/text.ts";

const USAGE = `tollgate-host jobs: what the node worked on, and how each job ended

  --node ID         another node of your account; default: this machine's
  --model MODEL     only of this model
  --outcome WORD    only those that ended so: ok, upstream_failed, upstream_stall, client_closed, …
  --limit N         at most so many, up to 100; default 20
  --json            answer as JSON

Jobs that failed are among them. Nothing tells what was asked, or by whom.`;

export const jobs: Command = { summary: "what the node worked on, and how each job ended", usage: USAGE, run };

const SHOWN = 20;
const LIMIT_MAX = 100;

async function run(args: string[], context: CommandContext): Promise<number> {
  const flags = readFlags(args, {
    node: { type: "string" },
    model: { type: "string" },
    outcome: { type: "string" },
    limit: { type: "string" },
  });
  const mistakes: string[] = [];
  const limit = wholeNumber("limit", flags.limit, { min: 1, max: LIMIT_MAX }, (mistake) => void mistakes.push(mistake));
  if (mistakes.length > 0) throw new UsageError(mistakes);
  const session = await openSession(context);
  const query = {
    model: flags.model,
    outcome: flags.outcome as Job["outcome"] | undefined,
    limit: String(limit ?? SHOWN),
  };
  const { data, next_cursor } = await session.gateway.jobs(nodeIdOf(session, flags.node), query);
  answer(context, flags.json, { object: "list", data, more: next_cursor != null }, () =>
    data.length === 0
      ? ["no such job"]
      : [...jobLines(data), ...(next_cursor == null ? [] : ["", "there are more: --limit N"])],
  );
  return 0;
}

function jobLines(jobs: Job[]): string[] {
  const amounts = dollarColumn(jobs.map(({ earned_micro }) => earned_micro));
  return table(
    [
      ["finished (UTC)", "request", "model", "prompt", "output", "first token", "took", "earned", "outcome"],
      ...jobs.map((job, i) => [
        utcTime(job.finished_at),
        job.request_id,
        job.model ?? "–",
        count(job.prompt_tokens),
        count(job.completion_tokens),
        job.ttft_ms === null ? "–" : milliseconds(job.ttft_ms),
        job.duration_ms === null ? "–" : milliseconds(job.duration_ms),
        amounts[i] ?? "",
        job.outcome === "ok" ? "ok" : `${job.outcome}: ${sanitise(job.says)}`,
      ]),
    ],
    ["left", "left", "left", "right", "right", "right", "right", "right", "left"],
  );
}
