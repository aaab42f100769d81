/** The dispatch plane: the hub inside the gateway, or NATS servers, which belong to one deployment. */

import type pg from "pg";
import { openCertificate } from "../base/certificate.ts";
import type { Config } from "../config.ts";
import { absentPlane } from "../plane/absent-plane.ts";
import { joinPlane } from "../plane/deployment/join.ts";
import { openDeploymentRecord } from "../plane/deployment/record.ts";
import { openHub } from "../plane/hub/hub.ts";
import type { Plane } from "../plane/plane.ts";
import type { ServerSecrets } from "../server-secrets.ts";
import type { BuildContext } from "./context.ts";

export async function openPlane(context: BuildContext, secrets: ServerSecrets): Promise<Plane | undefined> {
  const { config, clock, random, log, gatewayId, onClose } = context;
  if (config.plane.absent) return undefined;
  const { host, port, publicUrl, credentialTtlMs, tls, nats } = config.plane;
  const { planeSeed: accountSeed } = secrets;
  const common = { clock, random, log, credentialTtlMs, ...(publicUrl !== undefined && { publicUrl }) };
  if (nats !== undefined) {
    // Loaded where it is used, as every library that few gateways need: a start has enough to read.
    const { openNatsPlane } = await import("../plane/nats/plane.ts");
    const plane = await openNatsPlane({ ...common, ...nats, ...signedBy(config.plane), gatewayId });
    onClose(() => plane.close());
    return plane;
  }
  const settings = { cert: "PLANE_TLS_CERT", key: "PLANE_TLS_KEY" };
  const certificate = tls === undefined ? undefined : await openCertificate({ files: tls, settings, clock, log });
  const hub = await openHub({
    ...common,
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

/** Who signs credentials on NATS servers. */
export const signedBy = ({ seed: accountSeed, account, signingSeeds }: Config["plane"]) => ({
  accountSeed,
  account,
  signingSeeds,
});

/** Makes sure that the plane is this database's, before anything is asked of its nodes. Returns the deployment's id. */
export async function openDeployment(
  context: BuildContext,
  { pool, plane = absentPlane() }: { pool: pg.Pool; plane: Plane | undefined },
): Promise<string> {
  const { clock, log, newId, gatewayId, onClose, onLost } = context;
  const record = openDeploymentRecord({ pool, newId });
  const { deployment, leave } = await joinPlane({ plane, record, gatewayId, clock, log, refused: onLost });
  onClose(leave);
  return deployment;
}
