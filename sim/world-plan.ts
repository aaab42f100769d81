/**
 * The plan of a simulated world: its nodes, accounts, requests, faults and operators' actions. Plans are plain data, so
 * they can be shortened, saved and run again.
 */

/** The kinds of nodes by their behaviour. All kinds but the first lie or fail, as in e2e/hostile. */
export const NODE_KINDS = [
  "honest",
  "silent",
  "failing",
  "empty",
  "gap",
  "twice",
  "garbage",
  "vectors",
  "accepts twice",
  "fast",
  "empty deltas",
  "overrun",
  "white space",
  "constant",
  "deaf",
  "bad vectors",
] as const;
export type NodeKind = (typeof NODE_KINDS)[number];

export interface NodePlan {
  kind: NodeKind;
  host: number;
  slots: number;
  models: string[];
  /** The node's engine supports output formats, and the node reports that. */
  formats: boolean;
}

export interface AccountPlan {
  /** An amount in picodollars, as text. */
  credit: string;
  inFlight: number | null;
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  budgetDay: string | null;
}

/** How an honest node answers. */
export interface AnswerScript {
  /** The number of words in the answer. `thinkWords`: the number of words of reasoning before it. */
  words: number;
  thinkWords: number;
  perDelta: number;
  ttftMs: number;
  everyMs: number;
  /** The fault happens on this attempt (0: on every attempt) after this many words. */
  fault: { kind: "fail" | "stall" | "drop" | "prompt"; attempt: number; after: number } | null;
}

export interface RequestPlan {
  account: number;
  gateway: number;
  /** The request goes to /v1/completions; if not set, to the usual endpoint of the model. */
  endpoint?: "completion";
  model: string;
  stream: boolean;
  promptWords: number;
  maxTokens: number;
  /** The stop string of the request. Null: it has none. */
  stop: string | null;
  /** Whether the request asks for an output format. */
  formatted: boolean;
  /** The number of texts to embed, if the model embeds. */
  texts: number;
  /** When the client disconnects, in milliseconds after its request; null: never. */
  leavesMs: number | null;
  script: AnswerScript;
}

/** Kinds of statements after whose commit a gateway may die without receiving the answer. */
export const CRASH_AFTER_COMMIT_SQL_KINDS = [
  "ledger_hold",
  "ledger_settle",
  "ledger_transfer",
  "payout_create",
  "payout_paid",
  "commit",
] as const;
type CommitKind = (typeof CRASH_AFTER_COMMIT_SQL_KINDS)[number];

export type PlanItem = { atMs: number } & (
  | { do: "ask"; ask: RequestPlan }
  | { do: "crash gateway"; gateway: number; fuse: number; downMs: number; powerLoss: boolean }
  | { do: "drain gateway"; gateway: number; graceMs: number; downMs: number }
  | { do: "crash node"; node: number; downMs: number }
  | { do: "cut node"; node: number; downMs: number; how: "plane" | "moved" }
  | { do: "cut gateway"; gateway: number; downMs: number }
  | { do: "slow plane"; delayMsMax: number; forMs: number }
  | { do: "store away"; forMs: number }
  | { do: "store cut"; gateway: number; forMs: number }
  | { do: "store loses"; percent: number; forMs: number }
  | { do: "store slow"; delayMsMax: number; forMs: number }
  | { do: "store crashes"; forMs: number }
  /**
   * The database fails over: commits hang for `hangMs`. Then a standby answers reads, and after `forMs` it also accepts
   * writes.
   */
  | { do: "store fails over"; hangMs: number; forMs: number }
  | { do: "store answers late"; delayMsMax: number; forMs: number }
  | { do: "store refuses"; percent: number; forMs: number }
  /** The gateway dies between the commit of its next statement of this kind and the answer to the statement. */
  | { do: "crash at commit"; gateway: number; of: CommitKind; downMs: number; powerLoss: boolean }
  | { do: "disk full"; gateway: number; forMs: number }
  | { do: "limits away"; how: "hangs" | "dies"; forMs: number }
  | { do: "transfer"; account: number; kind: "grant" | "purchase" | "refund" | "dispute"; amount: string }
  | {
      do: "payment";
      account: number;
      cents: number;
      seen: "paid" | "expired";
      /** How a refund or a dispute of the whole amount ends. */
      refund: "succeeded" | "failed" | null;
      dispute: "won" | "lost" | null;
      /** The time between two steps in the life of the payment, in milliseconds. */
      stepMs?: number;
    }
  | { do: "payout batch"; minimum: string }
  | { do: "revoke key"; account: number }
  | { do: "reload catalogue" }
  | { do: "quarantine node"; node: number; forMs: number }
);

export interface Plan {
  seed: number;
  endMs: number;
  gateways: { skewMs: number }[];
  /** How gateways behave while the limits server is unreachable (LIMITS_WHEN_AWAY). */
  limitsWhenAway: "refuse" | "local";
  hosts: number;
  nodes: NodePlan[];
  accounts: AccountPlan[];
  items: PlanItem[];
  /** The number of days for which earnings are held back before a payout. */
  payoutHoldDays?: number;
  /** For each host: the index of the builder account with the same owner. */
  hostOwners?: (number | null)[];
  /** Whether the simulation runs until `HEALING_MS` after the plan's end, even if everything is settled earlier. */
  livesOn: boolean;
}
