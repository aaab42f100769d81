/** Opens the dispatch plane: the hub embedded in this process, or the deployment's NATS servers. */

import type pg from "pg";
import { openCertificate } from "../base/certificate.ts";
import type { Config } from "../config.ts";
import { createAbsentPlane } from "../plane/absent-plane.ts";
import { openDeploymentRecord } from "../plane/deployment/deployment-record.ts";
import { joinPlane } from "../plane/deployment/join-plane.ts";
import { type Hub, openHub } from "../plane/hub/hub.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import type { ServerSecrets } from "../server-secrets.ts";
import type { BuildContext } from "./build-context.ts";

export async function openPlane(context: BuildContext, secrets: ServerSecrets): Promise<DispatchPlane | undefined> {
  const { config, gatewayId, onClose, worker } = context;
  if (config.plane.absent) return undefined;
  const { nats } = config.plane;
  if (nats !== undefined) {
    // Loaded on demand to keep starts fast.
    const { openNatsPlane } = await import("../plane/nats/nats-plane.ts");
    const plane = await openNatsPlane({
      ...commonOf(context),
      ...nats,
      ...pickPlaneSigningKeys(config.plane),
      gatewayId,
    });
    onClose(() => plane.close());
    return plane;
  }
  return worker?.plane ?? (await openEmbeddedHub(context, secrets));
}

type HubContext = Pick<BuildContext, "config" | "clock" | "random" | "log" | "onClose">;

const commonOf = ({ config: { plane }, clock, random, log }: HubContext) => ({
  clock,
  random,
  log,
  credentialTtlMs: plane.credentialTtlMs,
  ...(plane.publicUrl !== undefined && { publicUrl: plane.publicUrl }),
});

/** Opens the embedded hub in this process. */
export async function openEmbeddedHub(context: HubContext, secrets: ServerSecrets): Promise<Hub> {
  const { clock, log, onClose } = context;
  const { host, port, tls } = context.config.plane;
  const { planeSeed: accountSeed } = secrets;
  const settings = { cert: "PLANE_TLS_CERT", key: "PLANE_TLS_KEY" };
  const certificate = tls === undefined ? undefined : await openCertificate({ files: tls, settings, clock, log });
  const hub = await openHub({
    ...commonOf(context),
    host,
    port,
    ...(accountSeed !== undefined && { accountSeed }),
    ...(secrets.planeSeedOld !== undefined && { oldAccountSeed: secrets.planeSeedOld }),
    ...(certificate !== undefined && { tls: certificate.current() }),
  });
  onClose(() => hub.close());
  certificate?.onRenewal((renewed) => hub.renewCertificate(renewed));
  if (certificate !== undefined) onClose(certificate.stop);
  await secrets.keepPlaneSeed(hub.accountSeed);
  return hub;
}

/** The keys that sign credentials on NATS servers. */
export const pickPlaneSigningKeys = ({ seed: accountSeed, account, signingSeeds }: Config["plane"]) => ({
  accountSeed,
  account,
  signingSeeds,
});

/**
 * Verifies, before any node gets messages, that the dispatch plane belongs to the same deployment as the database.
 * Returns the deployment's ID.
 */
export async function verifyPlaneDeployment(
  context: BuildContext,
  { pool, plane = createAbsentPlane() }: { pool: pg.Pool; plane: DispatchPlane | undefined },
): Promise<string> {
  const { clock, log, newId, gatewayId, onClose, onLost } = context;
  const record = openDeploymentRecord({ pool, newId });
  const { deployment, leave } = await joinPlane({ plane, record, gatewayId, clock, log, refused: onLost });
  onClose(leave);
  return deployment;
}
