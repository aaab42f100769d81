/**
 * Opens a platform for a test (a stage): gateways with a shared database, dispatch plane and limits server, and nodes.
 * It runs either in the test's own process on a clock that the test moves, or as processes that can be killed.
 * README.md explains which to use.
 */
import { type InProcessOptions, InProcessStage } from "./in-process-stage.ts";
import { type ProcessOptions, ProcessStage } from "./process-stage.ts";

export type { Stage, StageNode } from "./base-stage.ts";
export type { BuilderAccount, HostAccount } from "./builder-and-host-accounts.ts";
export { NO_QUARANTINE_OR_PROBATION_ENV } from "./shared-servers.ts";
export type { InProcessStage, ProcessStage };

export function openStage(options: InProcessOptions & { as: "in-process" }): Promise<InProcessStage>;
export function openStage(options: ProcessOptions & { as: "processes" }): Promise<ProcessStage>;
export function openStage(
  options: (InProcessOptions & { as: "in-process" }) | (ProcessOptions & { as: "processes" }),
): Promise<InProcessStage | ProcessStage> {
  return options.as === "in-process" ? InProcessStage.open(options) : ProcessStage.open(options);
}
