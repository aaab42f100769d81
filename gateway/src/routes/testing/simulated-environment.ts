/**
 * For tests: everything outside the database that the gateway uses: connected nodes, plane, payment provider, token
 * counts.
 */
import { parseId } from "../../base/ids.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { UnpaidJobResult } from "../../inference/unpaid-job.ts";
import type { TokenMeter } from "../../metering/token-meter.ts";
import type { Payments } from "../../payments/payments.ts";
import type { PaymentServices } from "../../payments/services.ts";
import type { NodeCredentials } from "../../plane/plane.ts";
import type { ConnectedNodes, NodeServices } from "../nodes/services.ts";

export interface SimulatedEnvironment {
  /** The connected nodes, by public ID. */
  connected: Set<string>;
  /** The result of a host's trial request to its node. */
  tried: UnpaidJobResult | undefined;
  mint: (nodeId: string) => Promise<NodeCredentials>;
  /** Whether the payment provider answers requests, other than those for a checkout. */
  provider: "there" | "away";
  /** Replaces the payment provider's checkout. */
  checkout: Payments["checkout"] | undefined;
  /** Replaces the token counts, which by default are counts of words. */
  counting: Partial<Pick<TokenMeter, "countPrompt">>;
}

export const defaultEnvironment = (): SimulatedEnvironment => ({
  connected: new Set(),
  tried: undefined,
  mint: () => Promise.reject(new Error("the plane is away")),
  provider: "there",
  checkout: undefined,
  counting: {},
});

/** Counts words, for tests that do not depend on real tokens. */
export const WORD_METER: TokenMeter = {
  tokenizer: "words",
  tokenizerSha256: "",
  async countPrompt(prompt, limit) {
    const texts = prompt.kind === "chat" ? prompt.messages.map(({ content }) => content) : [];
    const tokens = texts.join(" ").split(" ").length;
    return { tokens, over: tokens > limit ? { index: 0, tokens, isExact: true } : null };
  },
  openOutput: () => {
    throw new Error("nothing is generated here");
  },
};

/** Parts whose nodes and payment provider behave as `outside` says. */
export function simulateOutsideServices(
  { payments }: PaymentServices,
  outside: SimulatedEnvironment,
): Pick<NodeServices, "nodes"> & Pick<InferenceServices, "runPrivately"> & Pick<PaymentServices, "payments"> {
  return {
    nodes: scriptedNodes(outside.connected),
    runPrivately: async () => outside.tried,
    payments: payments && {
      ...payments,
      checkout: (request) => (outside.checkout ?? payments.checkout)(request),
    },
  };
}

const NO_SPEED = { ttftMs: null, tokensPerSecond: null };

/** Connected nodes with four slots each, one of them busy, all equally fast. */
function scriptedNodes(connected: ReadonlySet<string>): ConnectedNodes {
  const isAny = (): boolean => connected.size > 0;
  return {
    count: () => connected.size,
    all: () =>
      [...connected].flatMap((text) => {
        const id = parseId("node", text);
        return id === undefined ? [] : [{ id, slots: 4, busy: 1 }];
      }),
    find: (id) =>
      connected.has(id)
        ? { slots: 4, outstanding: 1, engineSlots: null, draining: false, inGoodStanding: true, acceptsEarly: true }
        : undefined,
    speedOf: (model) => (isAny() && model === "tiny-3b" ? { ttftMs: 180.25, tokensPerSecond: 41.52 } : NO_SPEED),
    capacityOf: () => (isAny() ? { nodes: 1, slots: 4, busy: 1 } : { nodes: 0, slots: 0, busy: 0 }),
    waitingFor: () => (isAny() ? 2 : 0),
    keepsFormat: (model) => isAny() && model === "tiny-3b",
    speedOfNode: (id) => (connected.has(id) ? { ttftMs: 180.25, tokensPerSecond: 41.5 } : NO_SPEED),
    reliabilityOf: (id) => ({
      jobs: connected.has(id) ? 3 : 0,
      failures: connected.has(id) ? 1 : 0,
      jobsWindow: 20,
      failuresMax: 5,
    }),
    lengthEvidenceOf: (id) =>
      connected.has(id) ? [{ model: "tiny-3b", compared: 40, accounts: 5, ranks: [31, 4, 3, 2] }] : [],
  };
}
