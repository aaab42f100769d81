/** Opens the parts for nodes: node records, dispatch and trust. */
import { parseId, publicId, type Uuid } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import { RETIRED_NODE_CREDENTIALS_MS_MAX } from "../base/node-trust-thresholds.ts";
import type { NodeStanding } from "../base/stored-enumerations.ts";
import { ACCOUNT_TOPIC, type Broadcast, NODE_TOPIC } from "../db/broadcast.ts";
import { type Dispatcher, openDispatcher } from "../dispatch/dispatcher.ts";
import { openPeerGateways, type PeerGateways } from "../dispatch/exchange/peer-gateways.ts";
import type { NodeRecord } from "../dispatch/node-records.ts";
import { Roster } from "../dispatch/roster.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { NodeRules } from "../fleet/node-standing-rules.ts";
import type { RequestPathDependencies } from "../inference/request-path-dependencies.ts";
import { CREDENTIAL_TTL_MS_MAX } from "../plane/credentials/user-jwt.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import { type OperatorCanariesByModel, openCanarySource } from "../trust/canary-source.ts";
import type { GenerateCanary } from "../trust/generated-canaries.ts";
import type { QuarantineVerdict } from "../trust/reliability.ts";
import { type Trust, watchNodes } from "../trust/trust.ts";
import type { AssemblyContext } from "./assembly-context.ts";

export interface FleetSettings {
  dispatchDeadlineMs: number;
  /** The maximum time for a job after a node accepted it. A longer job ends as stalled. */
  jobMsMax: number;
  /** Whether to quarantine nodes that fail, cheat or run another model. If false, the gateway only logs them. */
  autoQuarantine: boolean;
  /** The rules for new nodes. */
  nodeRules: NodeRules;
  /** The operator's own canaries. */
  secretCanaries: OperatorCanariesByModel;
  /** Generates canaries (test requests with known answers). By default they are unpredictable. */
  makeUpCanary?: GenerateCanary;
  /** The host accounts of the operator's own nodes. In spot checks, the result of such a node overrules every other. */
  referenceHosts: readonly Uuid[];
  /** The accepted rate of false alarms: the share of honest nodes that may fail their spot checks per day. */
  spotCheckFalseAlarms: number;
}

interface Needs {
  plane: DispatchPlane;
  fleet: Fleet;
  broadcast: Broadcast;
}

/** Returns, by model, how many answers of a node were recorded and how many were checked. */
export type CountNodeChecks = (
  nodeId: Uuid,
) => Promise<Required<Pick<NodeRecord, "answers" | "checked" | "suspected">>>;

type Enforce = (nodeId: string | undefined) => Promise<void>;

export interface Dispatch {
  roster: Roster;
  dispatcher: Dispatcher;
  peers: PeerGateways;
  enforce: Enforce;
}

export function openDispatch(
  { clock, random, log, gatewayId, onClose }: AssemblyContext,
  { dispatchDeadlineMs: deadlineMs, jobMsMax }: Pick<FleetSettings, "dispatchDeadlineMs" | "jobMsMax">,
  { plane, fleet, broadcast, checksOf }: Needs & { checksOf: CountNodeChecks },
): Dispatch {
  const roster = new Roster({ plane, clock, random, log, nodeRecord: (id) => nodeRecord(fleet, id, checksOf) });
  onClose(() => roster.close());
  /** Functions that cancel the waits for retired nodes' last jobs. */
  const leaving = new Set<() => void>();
  onClose(() => {
    for (const stop of leaving) stop();
  });
  const refuse = (nodeId: string): Promise<void> =>
    // Disconnects the node. If the plane is unreachable, the revocation takes effect once the plane is back.
    plane
      .revoke(nodeId)
      .catch((error) => log.error({ err: error, node: nodeId }, "node credentials not revoked yet; retrying"));
  /** Applies the node's record on every gateway that receives the change. */
  const enforce = async (nodeId: string | undefined): Promise<void> => {
    if (nodeId === undefined) return await roster.review();
    const standing = await standingOf(fleet, nodeId);
    await roster.review(nodeId);
    if (standing === "quarantined") await refuse(nodeId);
    else if (standing === "retired") {
      await plane.refuseNewConnections(nodeId);
      // A retired node may finish its jobs within a time limit before it is disconnected.
      void whenIdle(roster, { nodeId, clock, leaving }).then(() => refuse(nodeId));
    }
  };
  broadcast.on(NODE_TOPIC, (nodeId) => {
    enforce(nodeId).catch((error) => log.error({ err: error, node: nodeId }, "could not apply a node's new state"));
  });
  broadcast.on(ACCOUNT_TOPIC, () => {
    roster.review().catch((error) => log.error({ err: error }, "could not check the states of the nodes"));
  });
  const peers = openPeerGateways({ plane, roster, clock, log, gatewayId });
  onClose(() => peers.close());
  const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId, deadlineMs, jobMsMax, peers });
  onClose(() => dispatcher.close());
  return { roster, dispatcher, peers, enforce };
}

interface TrustNeeds extends Needs {
  gateway: Pick<RequestPathDependencies, "dispatcher" | "meter" | "catalogue">;
  dispatch: Pick<Dispatch, "roster" | "peers" | "enforce">;
}

/**
 * Starts the supervision of nodes. Recently quarantined nodes are revoked again, because a plane may have lost the
 * revocation.
 */
export async function startNodeSupervision(
  { clock, random, newId, log, onClose }: AssemblyContext,
  {
    autoQuarantine: automatic,
    secretCanaries: secrets,
    makeUpCanary: makeUp,
  }: Pick<FleetSettings, "autoQuarantine" | "secretCanaries" | "makeUpCanary">,
  { gateway, plane, fleet, broadcast, dispatch: { roster, peers, enforce } }: TrustNeeds,
): Promise<Trust> {
  const barred = await fleet.barredSince(new Date(clock.now() - CREDENTIAL_TTL_MS_MAX));
  const refuse = (node: string): Promise<void> =>
    // If the plane is unreachable, it applies the revocation once it is back.
    plane.revoke(node).catch((error) => log.error({ err: error, node }, "node credentials not revoked yet; retrying"));
  await Promise.all(barred.map((id) => refuse(publicId("node", id))));
  const trust = watchNodes({
    gateway,
    roster,
    peers,
    automatic,
    draw: openCanarySource({ secrets, random, makeUp }),
    newId,
    clock,
    random,
    log,
    async record(seen) {
      for (const id of await fleet.record.add(new Map([...seen].map(([nodeId, one]) => [uuidOf(nodeId), one])))) {
        const nodeId = publicId("node", id);
        log.info({ node: nodeId }, "node finished its probation");
        await enforce(nodeId);
        await broadcast.send(NODE_TOPIC, nodeId);
      }
    },
    lastDay: (nodeId) => fleet.record.lastDayOfHost(uuidOf(nodeId)),
    quarantine: (nodeId, verdict) => quarantineNode({ fleet, broadcast, enforce, log }, nodeId, verdict),
  });
  onClose(() => trust.stop());
  return trust;
}

function uuidOf(nodeId: string): Uuid {
  const id = parseId("node", nodeId);
  invariant(id !== undefined, "a connected node has a public id");
  return id;
}

/** The gateway's parts that `quarantineNode` uses. */
export interface QuarantineContext {
  fleet: Fleet;
  broadcast: Broadcast;
  enforce: Enforce;
  log: AssemblyContext["log"];
}

export async function quarantineNode(
  { fleet, broadcast, enforce, log }: QuarantineContext,
  nodeId: string,
  { reason, evidence }: QuarantineVerdict,
): Promise<void> {
  // If another gateway has already quarantined the node, that gateway's evidence is kept.
  if (await isBarred(fleet, nodeId)) return enforce(nodeId);
  await fleet.quarantine(uuidOf(nodeId), { reason, evidence, by: "platform" });
  log.warn({ node: nodeId, reason, evidence }, "node quarantined");
  await enforce(nodeId);
  await broadcast.send(NODE_TOPIC, nodeId);
}

async function standingOf(fleet: Fleet, nodeId: string): Promise<NodeStanding | undefined> {
  const id = parseId("node", nodeId);
  return id === undefined ? undefined : (await fleet.find(null, id))?.standing;
}

async function isBarred(fleet: Fleet, nodeId: string): Promise<boolean> {
  const standing = await standingOf(fleet, nodeId);
  return standing === "quarantined" || standing === "retired";
}

interface Leaving {
  nodeId: string;
  clock: AssemblyContext["clock"];
  /** Functions that cancel the waits for retired nodes' last jobs. `whenIdle` adds and removes its own. */
  leaving: Set<() => void>;
}

/** Resolves once no gateway has a job on the node, or after a time limit. */
function whenIdle(roster: Roster, { nodeId, clock, leaving }: Leaving): Promise<void> {
  if (roster.outstandingOf(nodeId) === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = (): void => {
      for (const each of stops) each();
      leaving.delete(stop);
    };
    const done = (): void => {
      stop();
      resolve();
    };
    leaving.add(stop);
    const stops = [
      clock.after(RETIRED_NODE_CREDENTIALS_MS_MAX, done),
      roster.onChange(() => {
        if (roster.outstandingOf(nodeId) === 0) done();
      }),
    ];
  });
}

/**
 * What the database allows a node. Nothing, unless its host elected (chose) models and the node is in good standing.
 */
async function nodeRecord(
  fleet: Fleet,
  nodeId: string,
  checksOf: CountNodeChecks,
): ReturnType<ConstructorParameters<typeof Roster>[0]["nodeRecord"]> {
  const id = parseId("node", nodeId);
  const node = id === undefined ? undefined : await fleet.find(null, id);
  if (node === undefined || node.standing !== "ready" || node.hostSuspended || node.withheld !== null) return undefined;
  const { id: uuid, accountId: hostAccountId, models, probation, slotsMax, owners } = node;
  const answersOwed = probation === null ? 0 : probation.needed - probation.answers;
  return { nodeId: uuid, hostAccountId, models, answersOwed, slotsMax, owners, ...(await checksOf(uuid)) };
}
