/** What open pages are shown as it happens: a builder's money and requests, the platform's load. */
import { publicId, type Uuid } from "../../base/ids.ts";
import { exactMicro, ZERO } from "../../base/money.ts";
import type { History } from "../../history/history.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { Overview } from "../../operators/overview.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";
import type { Live, LiveNumbers } from "./live.ts";
import { balanceObject } from "./money.ts";
import type { ModelCapacity } from "./operator/options.ts";

export interface LiveRoutesOptions {
  live: Live;
  ledger: Ledger;
  history: History;
  overview: Overview;
  capacity: () => ModelCapacity[];
}

export function liveRoutes(route: ConsoleRoute, guards: Guards, options: LiveRoutesOptions): void {
  const { live, ledger, history, overview, capacity } = options;
  const ofBuilder = async (accountId: Uuid): Promise<LiveNumbers> => {
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
  const ofPlatform = async (): Promise<LiveNumbers> => {
    const { holds, held, nodes } = await overview.totals();
    return { load: { in_flight: holds, held_micro: exactMicro(held), nodes, capacity: capacity() } };
  };

  route("GET", "/console/api/live", guards.builder, async (visit) => {
    const { id } = visit.account;
    live.open(`builder ${id}`, visit.response, {
      read: () => ofBuilder(id),
      mayLook: async () => (await guards.builder(visit)).account.id === id,
    });
  });
  route("GET", "/console/api/operator/live", guards.operator, async (visit) =>
    live.open("platform", visit.response, {
      read: ofPlatform,
      mayLook: async () => (await guards.operator(visit)).who.operator,
    }),
  );
}
