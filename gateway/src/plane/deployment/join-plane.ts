/**
 * Before a gateway uses a shared plane, it checks that the plane belongs to its deployment and that the gateways on it
 * use the same database. A restored copy that joined would use the live nodes and record their work in the wrong
 * ledger. While the plane is unreachable, the gateway starts without it and checks as soon as the plane is back.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { DispatchPlane } from "../plane.ts";
import { answerDatabaseMarkQuestions, askRunningGateways, hasRunningGateways } from "./ask-running-gateways.ts";
import type { DeploymentRecord } from "./deployment-record.ts";

const LOOK_AGAIN_MS = 1_000;

/** The plane belongs to another deployment. The message describes the problem and what to do. */
export class WrongPlaneError extends Error {
  override name = "WrongPlane";
  readonly what: string;
  readonly remedy: string;
  constructor(what: string, remedy: string) {
    super(`${what}. Next: ${remedy}`);
    this.what = what;
    this.remedy = remedy;
  }
}

interface JoinOptions {
  plane: DispatchPlane;
  record: DeploymentRecord;
  gatewayId: string;
  clock: Clock;
  log: Log;
  /** Called if a plane that was unreachable at the start turns out to belong to another deployment. */
  refused: (error: WrongPlaneError) => void;
}

/** Throws `WrongPlane`. Returns the deployment's ID, and a function with which the gateway leaves the plane. */
export async function joinPlane(options: JoinOptions): Promise<{ deployment: string; leave: () => void }> {
  const { plane, record, clock, log } = options;
  const { id: deployment } = await record.read();
  if (plane.ownership === undefined) return { deployment, leave: () => {} };
  const answer = () => answerDatabaseMarkQuestions({ ...options, hasMark: (mark) => record.hasMark(mark) });
  let stopAnswering = answer();
  let stopLooking = (): void => {};
  const leave = (): void => {
    stopAnswering();
    stopLooking();
  };

  /** Checks the plane if it is reachable. Returns whether it could be checked. */
  const look = async (): Promise<boolean> => {
    if (plane.health.isAway) return false;
    try {
      // Stops this gateway's own subscription, so that only other gateways are counted.
      stopAnswering();
      const areRunning = await hasRunningGateways(options).finally(() => {
        stopAnswering = answer();
      });
      await check({ ...options, areRunning }, deployment);
      return true;
    } catch (error) {
      if (error instanceof WrongPlaneError) throw error;
      log.warn({ err: error }, "cannot determine yet whether the dispatch plane belongs to this deployment");
      return false;
    }
  };
  const lookLater = (): void => {
    stopLooking = clock.after(LOOK_AGAIN_MS, () => {
      look().then(
        (done) => {
          if (!done) lookLater();
        },
        (error) => options.refused(error),
      );
    });
  };

  try {
    if (!(await look())) lookLater();
  } catch (error) {
    leave();
    throw error;
  }
  return { deployment, leave };
}

async function check(options: JoinOptions & { areRunning: boolean }, deployment: string): Promise<void> {
  const { plane, record, log } = options;
  const owner = await plane.ownership?.claim(deployment);
  if (owner !== deployment) {
    throw new WrongPlaneError(
      `the dispatch plane on NATS belongs to deployment ${owner}, but this database to deployment ${deployment}`,
      "give this deployment NATS servers and seeds of its own (tollgate admin plane init) or, if the other deployment no longer exists, " +
        "take over its dispatch plane (tollgate admin deployment adopt)",
    );
  }
  const found = await askRunningGateways(options, await record.mark());
  if (found === "other") {
    throw new WrongPlaneError(
      `this database is a copy of deployment ${deployment}, and the gateways on the NATS plane use the other copy`,
      "if this gateway should join the gateways on the plane, set DATABASE_URL to their database. To replace their " +
        "database with this one, stop them first. For a restore drill, give this database a new ID " +
        "(tollgate admin deployment fork) and NATS servers of its own",
    );
  }
  if (found === "unknown" || found === "silent")
    log.warn("cannot determine whether the other gateways on the NATS plane use this database; continuing");
}
