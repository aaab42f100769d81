/** The setting for the number of worker processes. */
import { availableParallelism } from "node:os";
import { z } from "zod";
import { declareSettings, parsedSetting } from "../base/settings.ts";

const WORKERS_MAX = 128;
const RULE = `be auto, or a whole number from 1 to ${WORKERS_MAX}`;

const Workers = z.union([z.literal("auto"), z.coerce.number().int().min(1).max(WORKERS_MAX)], `must ${RULE}`);

interface WorkersConfig {
  /** The number of processes that serve one port. A single process has no primary process. */
  workers: number;
}

export const workerSettings = declareSettings({
  title: "Processes",
  note: `Each worker gets an equal part of \`DATABASE_POOL_MAX\` (at least 4 connections), \`DATABASE_POOL_MIN\` and \`BODY_BUDGET_MB\`. \`tollgate dev\` always runs one process.`,
  settings: {
    WORKERS: parsedSetting(
      Workers,
      {
        default: 1 as const,
        rule: RULE,
        help: "Number of processes that serve on one port; `auto` is one for each processor.",
        see: "[Several processors](capacity.md#several-processors)",
      },
      "1",
    ),
  },
  config: (e): WorkersConfig => ({ workers: e.WORKERS === "auto" ? availableParallelism() : e.WORKERS }),
});
