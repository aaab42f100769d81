/** The agent's and the gateway's news in words. */
import type { AgentStatus } from "../../agent/agent.ts";
import type { Stats } from "../gateway/answers.ts";
import { quarantineReason, withheldReason } from "../quarantine.ts";
import { tame } from "../terminal/paint.ts";

export function lineSentence(status: AgentStatus): string {
  if (status.type === "online") return "online   waiting for requests";
  const reason = status.reason?.message.split("\n")[0]?.replace(/\.$/, "") ?? "the connection was closed";
  return `offline  ${tame(reason)}; ${status.type === "offline" ? "reconnecting" : "trying again"}`;
}

/** What a host has to know of a state that keeps requests away; undefined for the others. */
export function standingSentence({
  state,
  quarantine,
  withheld,
}: Pick<Stats, "state" | "quarantine" | "withheld">): string | undefined {
  if (state === "paused") return "paused   no new requests; tollgate-host resume lets them in again";
  if (state === "retired") return "retired  this node gets no requests any more";
  if (state !== "quarantined" && withheld != null) {
    return `no work  ${withheldReason(withheld)}; tollgate-host status says what to do`;
  }
  if (state !== "quarantined") return undefined;
  const reason = quarantine == null ? "" : ` (${quarantineReason(quarantine)})`;
  return `quarantined${reason}: tollgate-host status shows the evidence`;
}
