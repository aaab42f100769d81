/** Explains the platform's status in words: its effect on users, the likely cause and the next step. Pure. */
import type { Health, Triage } from "../../../api/answer-types.ts";

const RUNBOOK = "/docs/guide/operators/runbook";

export interface PlatformHealthSummary {
  state: Triage["state"];
  title: string;
  meaning: string;
  /** Unix seconds; null if unknown. */
  since: number | null;
  /** The likely cause, the next step, and the section of the runbook. */
  cause?: string;
  next?: string;
  runbook?: string;
}

type Part = Health["unreachable"][number]["part"];

const PARTS: Record<Part, { name: string; meaning: string }> = {
  database: {
    name: "the database",
    meaning:
      "Every request gets 503 and costs nothing. No one can sign in. Answers that were running are charged later.",
  },
  limits: { name: "the limits server", meaning: "Every request gets 503, because rate limits cannot be checked." },
  plane: { name: "the dispatch plane", meaning: "Every request gets 503, because no node can be reached." },
};

/** `triage`: the platform's health; undefined if it cannot be loaded, which `unreachable` then explains. */
export function describePlatformHealth(
  triage: Pick<Triage, "state" | "causes" | "models"> | undefined,
  unreachable: Health["unreachable"],
  nowMs: number,
): PlatformHealthSummary | undefined {
  const away = unreachable.find(({ needed }) => needed);
  if (away !== undefined) return unreachableWords(away.part, away.since, nowMs);
  if (triage === undefined) return undefined;
  const [cause, ...others] = triage.causes;
  if (cause === undefined) {
    const models = triage.models === 1 ? "The model has" : `All ${triage.models} models have`;
    return {
      state: "serving",
      title: "Serving",
      meaning: `${models} connected nodes, and requests are being served.`,
      since: null,
    };
  }
  if (cause.code === "unreachable" && cause.part !== null) return unreachableWords(cause.part, cause.since, nowMs);
  if (cause.code === "no_models") return NO_MODELS;
  const words = cause.code === "errors" ? failing(cause.models, triage.models) : missing(cause.models, triage);
  const more =
    others.length === 0 ? "" : ` Also: ${others.map(({ models }) => `errors with ${models.join(", ")}`).join("; ")}.`;
  return { ...words, meaning: `${words.meaning}${more}`, since: cause.since };
}

const NO_MODELS: PlatformHealthSummary = {
  state: "down",
  title: "Down: no model is offered",
  meaning: "Every request is refused with status 404 and costs nothing.",
  since: null,
  cause: "No model in the catalogue file has the status “active”.",
  next: "Set the status of a model to “active”, and run `npx tollgate admin catalogue reload`.",
  runbook: "/docs/guide/operators/payments#prices",
};

function unreachableWords(part: Part, since: number | null, nowMs: number): PlatformHealthSummary {
  const { name, meaning } = PARTS[part];
  return {
    state: "down",
    title: `Down: ${name} is unreachable${since === null ? "" : ` for ${lasting(nowMs - since * 1000)}`}`,
    meaning,
    since,
    cause: `${capital(name)} stopped, or the network to it failed. The gateway's log has the reason.`,
    next: "Restart the server or repair its network. Gateways reconnect automatically.",
    runbook: `${RUNBOOK}#tollgatedependencyaway`,
  };
}

type Words = Omit<PlatformHealthSummary, "since">;

function missing(models: string[], { state, models: of }: Pick<Triage, "state" | "models">): Words {
  if (state === "down") {
    return {
      state,
      title: "Down: no node is connected",
      meaning: "Every request gets 503 and costs nothing.",
      cause: "No node was added yet, all agents stopped, or they cannot reach the dispatch plane.",
      next: "Look at the page “All nodes”. If the dispatch plane is up, check the address and certificate that nodes use to reach it.",
      runbook: `${RUNBOOK}#tollgatenonodes`,
    };
  }
  return {
    state,
    title: `Degraded: ${models.length} of ${of} models ${models.length === 1 ? "has" : "have"} no capacity`,
    meaning: `Requests for ${models.join(", ")} get 503. Other models are served.`,
    cause: "The nodes that served these models disconnected, were paused or are in quarantine.",
    next: "Look at the page “All nodes”, and contact the hosts of these nodes.",
    runbook: `${RUNBOOK}#tollgatenocapacity`,
  };
}

const failing = (models: string[], of: number): Words => ({
  state: "degraded",
  title: `Degraded: requests for ${models.length} of ${of} models fail`,
  meaning: `A fifth or more of the requests for ${models.join(", ")} fail after they started.`,
  cause: "A node or its engine is faulty, or a new build of a model in the catalogue does not work.",
  next: "Quarantine a node that fails, and inform its host.",
  runbook: `${RUNBOOK}#tollgaterequestsfailing`,
});

/** A duration as text, for example "40 s", "3 min", "2 h". */
function lasting(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
