/** Describes incidents in sentences. Pure. */
import type { Incident } from "../../../api/answer-types.ts";

const CAUSES: Record<Incident["cause"], string> = {
  database: "the database was unreachable",
  limits: "the limits server was unreachable",
  plane: "the dispatch plane was unreachable",
  stopped: "no gateway was running",
  no_capacity: "no node was connected",
  errors: "many requests failed",
};
const PAST_SHOWN = 3;

export function formatIncidentTitle({ model, state, cause }: Pick<Incident, "model" | "state" | "cause">): string {
  if (model !== null) return `${model}: ${CAUSES[cause]}`;
  return `${state === "down" ? "All requests" : "Some requests"}: ${CAUSES[cause]}`;
}

/** The open incidents, and the last few ended ones. */
export const shownIncidents = <One extends Pick<Incident, "to">>(incidents: One[]): One[] => [
  ...incidents.filter(({ to }) => to === null),
  ...incidents.filter(({ to }) => to !== null).slice(0, PAST_SHOWN),
];
