/**
 * Opens spot checks (verification of real answers) once the database has their tables. Until then, no answers are drawn
 * for verification.
 */
import type { Uuid } from "../base/ids.ts";
import type {
  AnswerSpotChecks,
  RequestObserver,
  RequestPathDependencies,
} from "../inference/request-path-dependencies.ts";
import { openWithheldSharesReserve } from "../ledger/withheld-shares-reserve.ts";
import type { CheckCounts, SpotCheckPayments } from "../trust/spot-checks/check-recorder.ts";
import { type NodeStatistics, openSpotChecks, type SpotChecks } from "../trust/spot-checks/checker.ts";
import { countNodeChecks, openCheckStore, SPOT_CHECKS_MIGRATION } from "../trust/spot-checks/store.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import {
  type CountNodeChecks,
  type Dispatch,
  type FleetSettings,
  type QuarantineContext,
  quarantineNode,
} from "./nodes-and-dispatch.ts";
import type { DatabaseAccess } from "./port-interfaces.ts";

type Settings = Pick<FleetSettings, "autoQuarantine" | "referenceHosts" | "spotCheckFalseAlarms">;

interface Needs {
  store: DatabaseAccess;
  gateway: Pick<RequestPathDependencies, "dispatcher" | "meter" | "watch" | "catalogue">;
  dispatch: Pick<Dispatch, "roster" | "enforce">;
  fleet: QuarantineContext["fleet"];
}

export interface DeferredSpotChecks extends AnswerSpotChecks {
  readonly counts: Readonly<CheckCounts>;
  settled(): Promise<void>;
  open(needs: Needs): void;
  /** Sets the other statistics (answer lengths, failures) that can make a node suspicious. */
  watch(statistics: NodeStatistics): void;
}

const NOTHING: CheckCounts = { drawn: 0, run: 0, dropped: 0, bad: 0, tokens: 0, pico: 0n };

export function openDeferredSpotChecks(context: AssemblyContext, settings: Settings): DeferredSpotChecks {
  const { log, clock, random, newId, onClose } = context;
  let checks: SpotChecks | undefined;
  let statistics: NodeStatistics = { isOdd: () => false, isUnreliable: () => false };
  const begin = async ({ store, gateway, dispatch, fleet }: Needs): Promise<void> => {
    await store.schema.reached(SPOT_CHECKS_MIGRATION);
    const { enforce, roster } = dispatch;
    const opened = await openSpotChecks({
      gateway,
      roster,
      store: openCheckStore(store.pool),
      money: checkMoney(store, gateway.watch),
      references: new Set<string>(settings.referenceHosts),
      falseAlarms: settings.spotCheckFalseAlarms,
      automatic: settings.autoQuarantine,
      isOdd: (nodeId) => statistics.isOdd(nodeId),
      isUnreliable: (nodeId) => statistics.isUnreliable(nodeId),
      quarantine: (nodeId, verdict) =>
        quarantineNode({ fleet, broadcast: store.broadcast, enforce, log }, nodeId, verdict),
      newId,
      clock,
      random,
      log,
    });
    onClose(() => opened.stop());
    checks = opened;
  };
  return {
    draws: (nodeId, model) => checks?.draws(nodeId, model) ?? false,
    check: (answer) => checks?.check(answer),
    get counts() {
      return checks?.counts ?? NOTHING;
    },
    settled: async () => checks?.settled(),
    watch: (given) => {
      statistics = given;
    },
    open: (needs) => {
      begin(needs).catch((error) => log.error({ err: error }, "could not start the spot checks"));
    },
  };
}

const checkMoney = ({ ledgerPool }: DatabaseAccess, watch: RequestObserver): SpotCheckPayments => {
  const reserve = openWithheldSharesReserve({ pool: ledgerPool });
  return {
    async withhold(nodeId, since) {
      const { shares } = await reserve.withhold(nodeId, since, "spot_check");
      watch.withheld("spot_check", shares);
    },
  };
};

const NONE = { answers: {}, checked: {}, suspected: false };

export const createNodeCheckCounter =
  ({ pool, schema }: Pick<DatabaseAccess, "pool" | "schema">): CountNodeChecks =>
  async (nodeId: Uuid) => {
    return schema.number < SPOT_CHECKS_MIGRATION ? NONE : countNodeChecks(pool, nodeId);
  };
