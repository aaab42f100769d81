/** Live numbers for open console pages: a builder's balance and requests, and the platform's load. */
import type { liveRoutes } from "@tollgate/api/console/live-event-streams.ts";
import type { z } from "zod";
import { publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, ZERO } from "../../base/money.ts";
import type { HistoryServices } from "../../history/services.ts";
import type { ConsoleGuards } from "../../http/guards.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { LedgerServices } from "../../ledger/services.ts";
import type { OperatorServices } from "../../operators/services.ts";
import type { NodeServices } from "../nodes/services.ts";
import type { SiteServices } from "../services.ts";
import { balanceObject } from "./balance-and-usage.ts";
import { sumCapacityByModel } from "./operator/overview.ts";

/** The data of each event of a stream, by the event's name, as the API declares it. */
type Numbers<Id extends keyof typeof liveRoutes> = {
  [Name in keyof (typeof liveRoutes)[Id]["answer"]["events"]["named"]]: z.input<
    (typeof liveRoutes)[Id]["answer"]["events"]["named"][Name]
  >;
};

export function liveNumberHandlers(
  parts: Pick<SiteServices, "live"> &
    Pick<LedgerServices, "ledger"> &
    Pick<HistoryServices, "history"> &
    Pick<OperatorServices, "overview"> &
    Pick<NodeServices, "nodes"> &
    Pick<InferenceServices, "catalogue">,
  guards: Pick<ConsoleGuards, "builder" | "operator">,
): Handlers<typeof liveRoutes> {
  const { live, ledger, history, overview } = parts;
  const ofBuilder = async (accountId: Uuid): Promise<Numbers<"watchAccount">> => {
    const [money, inFlight, [latest]] = await Promise.all([
      ledger.balance(accountId),
      ledger.holds(accountId),
      history.list(accountId, { limit: 1 }),
    ]);
    return {
      balance: balanceObject(money ?? { balance: ZERO, held: ZERO }),
      requests: { in_flight: inFlight, latest: latest === undefined ? null : publicId("req", latest.id) },
    };
  };
  const ofPlatform = async (): Promise<Numbers<"watchPlatform">> => {
    const { holds, held, nodes } = await overview.totals();
    const connected = parts.nodes.all();
    return {
      load: {
        in_flight: holds,
        held_micro: formatExactMicrodollars(held),
        nodes,
        slots: connected.reduce((sum, { slots }) => sum + slots, 0),
        busy: connected.reduce((sum, { busy }) => sum + busy, 0),
        capacity: sumCapacityByModel(parts),
      },
    };
  };
  return {
    async watchAccount({ account: { id, role }, call }) {
      // A changed role also ends the stream, so that the page reconnects with its new permissions.
      const mayLook = async () => {
        const { account } = await guards.builder(call);
        return account.id === id && account.role === role;
      };
      return (response) => live.open(`builder ${id}`, response, { read: () => ofBuilder(id), mayLook });
    },
    async watchPlatform({ call }) {
      const mayLook = async () => (await guards.operator(call)).who.operator;
      return (response) => live.open("platform", response, { read: ofPlatform, mayLook });
    },
  };
}
