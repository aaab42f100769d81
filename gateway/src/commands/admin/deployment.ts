/**
 * `tollgate admin deployment …`: shows the deployment's identity, the database that owns the plane, and shared
 * settings. `fork` makes a copied database a deployment of its own. `adopt` lets this database take over the plane of a
 * lost one.
 */

import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { formatProperties } from "@tollgate/terminal/table-format.ts";
import { deleteSharedSettings } from "../../db/deployment/shared-settings-record.ts";
import { openAudit } from "../../operators/audit.ts";
import { askRunningGateways, hasRunningGateways } from "../../plane/deployment/ask-running-gateways.ts";
import {
  type Deployment,
  type DeploymentRecord,
  openDeploymentRecord,
} from "../../plane/deployment/deployment-record.ts";
import { withPlane } from "../nats-plane.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";
import {
  formatSettingTable,
  listSharedSettings,
  sharedSettingCommands,
  sharedSettingObject,
} from "./shared-settings.ts";

const SHOW: AdminCommand = {
  help: "show the ID of this database's deployment, the deployment that owns the NATS plane, and the settings that gateways share",
  example: "",
  onAnyHistory: true,
  run: show,
};

export const deploymentCommands: Record<string, AdminCommand> = {
  deployment: SHOW,
  "deployment show": SHOW,
  ...sharedSettingCommands,
  "deployment fork": {
    help: "turn this copy of a database into a separate deployment, for a drill",
    flags: { yes: { help: "confirm that this copy can never join the NATS plane of the original deployment" } },
    example: "--yes",
    onAnyHistory: true,
    run: fork,
  },
  "deployment adopt": {
    help: "attach this database to a NATS plane whose former database is lost",
    example: "",
    onAnyHistory: true,
    run: adopt,
  },
};

async function show(run: AdminRun): Promise<number> {
  const record = openDeploymentRecord(run);
  const deployment = await record.read();
  const { gateways } = await record.inUse();
  const plane = await planeOf(run, deployment);
  const { id, createdAt, forkedFrom, forkedAt } = deployment;
  const settings = await listSharedSettings(run);
  if (run.json) {
    const about = { id, created_at: createdAt, forked_from: forkedFrom, forked_at: forkedAt, gateways, plane };
    const shown = { ...about, settings: settings.map(sharedSettingObject) };
    run.print(JSON.stringify(shown, null, 2));
    return 0;
  }
  const settingsTable = settings.length === 0 ? "" : `\n\n${formatSettingTable(settings, run)}`;
  run.print(
    `${formatProperties(
      {
        Deployment: id,
        Since: (forkedAt ?? createdAt).toISOString(),
        "Made from": forkedFrom === null ? undefined : `a copy of ${forkedFrom}`,
        Gateways: `${gateways} connected to this database`,
        Plane: WORDS[plane.state](plane),
      },
      run.terminal,
    )}${settingsTable}`,
  );
  return 0;
}

interface ShownPlane {
  /**
   * The owner of the plane. `own`: this database's deployment. `other`: another deployment. `unclaimed`: none yet.
   * `away`: unknown, because the plane is unreachable. `embedded`: each gateway runs its own plane.
   */
  state: "embedded" | "own" | "other" | "unclaimed" | "away";
  url: string | null;
  deployment: string | null;
}

const WORDS: Record<ShownPlane["state"], (plane: ShownPlane) => string> = {
  embedded: () => "the gateway's embedded dispatch plane (NATS_URL is not set)",
  own: ({ url }) => `${url} belongs to this deployment`,
  other: ({ url, deployment }) => `${url} belongs to another deployment: ${deployment}`,
  unclaimed: ({ url }) => `${url} belongs to no deployment yet; the first gateway that connects claims it`,
  away: ({ url }) => `${url} cannot be reached`,
};

async function planeOf(run: AdminRun, { id }: Deployment): Promise<ShownPlane> {
  const { nats } = run.config.plane;
  if (nats === undefined) return { state: "embedded", url: null, deployment: null };
  return await withPlane(run, async ({ ownership, isAway }) => {
    if (isAway) return { state: "away", url: nats.url, deployment: null };
    const owner = await ownership.owner();
    const state = owner === undefined ? "unclaimed" : owner === id ? "own" : "other";
    return { state, url: nats.url, deployment: owner ?? null };
  });
}

async function fork(run: AdminRun): Promise<number> {
  const record = openDeploymentRecord(run);
  await assertUnused(record);
  const { id: from } = await record.read();
  if (!run.switches.has("yes")) {
    throw new UsageError(
      `--yes is missing: this command makes the database a separate deployment, which can never join the NATS plane of deployment ${from} again`,
    );
  }
  const act = { operator: COMMAND_LINE_ACTOR, action: "deployment.fork", subject: from };
  const { id } = await openAudit(run).record(act, async () => {
    const forked = await record.fork();
    await deleteSharedSettings(run.pool);
    return forked;
  });
  const next =
    "create keys and configuration files for this deployment's own NATS servers: tollgate admin plane init --dir DIR";
  if (run.json) run.print(JSON.stringify({ id, forked_from: from, next }));
  else
    run.print(
      `This database is now deployment ${id}. Its gateways cannot use the NATS plane of ${from}.\nNext: ${next}`,
    );
  return 0;
}

async function assertUnused(record: DeploymentRecord): Promise<void> {
  const { gateways, requests } = await record.inUse();
  if (gateways > 0) throw new CommandError(`${gateways} gateways use this database`, { next: "stop them first" });
  if (requests > 0) {
    throw new CommandError(`${requests} requests still have holds in this database`, {
      next: "stop the gateways that use it, or wait until the leases of these requests end",
    });
  }
}

async function adopt(run: AdminRun): Promise<number> {
  if (run.config.plane.nats === undefined) {
    throw new CommandError("this command needs the environment variable NATS_URL", {
      next: "set -a; . gateway.env; set +a",
    });
  }
  const record = openDeploymentRecord(run);
  const { id } = await record.read();
  const before = await withPlane(run, async ({ plane, ownership, isAway, gatewayId }) => {
    if (isAway)
      throw new CommandError("the NATS servers cannot be reached", {
        next: "check NATS_URL, and that the servers run",
      });
    const owner = await ownership.owner();
    const areRunning = await hasRunningGateways({ plane });
    const found = await askRunningGateways({ plane, gatewayId, clock: run.clock, areRunning }, await record.mark());
    if (found === "other" || found === "silent") {
      const they = found === "other" ? "use another database" : "do not reply, so their database is unknown";
      throw new CommandError(`gateways on this NATS plane ${they}`, { next: "stop them first" });
    }
    const act = {
      operator: COMMAND_LINE_ACTOR,
      action: "deployment.adopt",
      subject: id,
      details: { from: owner ?? null },
    };
    if (owner !== id) await openAudit(run).record(act, () => ownership.take(id));
    return owner;
  });
  if (run.json) run.print(JSON.stringify({ id, adopted_from: before ?? null }));
  else if (before === id) run.print(`The NATS plane already belongs to this deployment, ${id}.`);
  else
    run.print(`The NATS plane now belongs to deployment ${id}. Before, it belonged to ${before ?? "no deployment"}.`);
  return 0;
}
