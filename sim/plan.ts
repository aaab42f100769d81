/**
 * The plan of a world, decided before it runs: its nodes and accounts, requests, faults, and operators' actions. A plan is plain data, so
 * it can be shortened item by item, written to a file and run again.
 */

/** How nodes behave. All but the first are the lies and failures of e2e/hostile. */
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
  /** Its engine keeps to an output format, and it says so. */
  formats: boolean;
}

export interface AccountPlan {
  /** Picodollars, as text. */
  credit: string;
  inFlight: number | null;
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  budgetDay: string | null;
}

/** How an honest node answers. */
export interface Script {
  /** The number of words, and of words of thinking before them. */
  words: number;
  thinkWords: number;
  perDelta: number;
  ttftMs: number;
  everyMs: number;
  /** On the n-th attempt (0: on every one), after so many words. */
  fault: { kind: "fail" | "stall" | "drop" | "prompt"; attempt: number; after: number } | null;
}

export interface Ask {
  account: number;
  gateway: number;
  /** Asked of /v1/completions; else of the endpoint that the model has. */
  endpoint?: "completion";
  model: string;
  stream: boolean;
  promptWords: number;
  maxTokens: number;
  /** Where the answer ends. */
  stop: string | null;
  /** Asks for an output format. */
  formatted: boolean;
  /** How many texts are to be embedded, where it is asked of such a model. */
  texts: number;
  /** The client leaves after this time. */
  leavesMs: number | null;
  script: Script;
}

/** Statements whose answer a gateway may not live to hear. */
export const COMMIT_KINDS = [
  "ledger_hold",
  "ledger_settle",
  "ledger_transfer",
  "payout_create",
  "payout_paid",
  "commit",
] as const;
type CommitKind = (typeof COMMIT_KINDS)[number];

export type Item = { atMs: number } & (
  | { do: "ask"; ask: Ask }
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
  /** Commits hang for so long, then a standby is there, and after so long it takes writes. */
  | { do: "store fails over"; hangMs: number; forMs: number }
  | { do: "store answers late"; delayMsMax: number; forMs: number }
  | { do: "store refuses"; percent: number; forMs: number }
  /** The gateway dies between a commit of its next statement with these words and the answer. */
  | { do: "crash at commit"; gateway: number; of: CommitKind; downMs: number; powerLoss: boolean }
  | { do: "disk full"; gateway: number; forMs: number }
  | { do: "limits away"; how: "hangs" | "dies"; forMs: number }
  | { do: "transfer"; account: number; kind: "grant" | "purchase" | "refund" | "dispute"; amount: string }
  | {
      do: "payment";
      account: number;
      cents: number;
      seen: "paid" | "expired";
      /** What becomes of the whole amount afterwards. */
      refund: "succeeded" | "failed" | null;
      dispute: "won" | "lost" | null;
      /** How long until the next thing happens to it. */
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
  /** What gateways do while the server of their limits is unreachable (LIMITS_WHEN_AWAY). */
  limitsWhenAway: "refuse" | "local";
  hosts: number;
  nodes: NodePlan[];
  accounts: AccountPlan[];
  items: Item[];
  /** For how many days earnings are held back. */
  payoutHoldDays?: number;
  /** By host: the account that has the same owner. */
  hostOwners?: (number | null)[];
  /** It is lived through to the end of the time for healing, although no one owes anything any more. */
  livesOn: boolean;
}
