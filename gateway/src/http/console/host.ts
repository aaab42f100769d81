/** A host's side of the console: its tokens and its nodes. */
import { parseId, publicId } from "../../base/ids.ts";
import { fault } from "../../faults.ts";
import type { SecretRecord, Secrets } from "../../keys/keys.ts";
import type { NodeDesk } from "../nodes/desk.ts";
import { modelsForHosts, type NodeWork } from "../nodes/work.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";
import { SecretName, seconds } from "./keys.ts";
import { issueSecret, secretsPage } from "./secret-lists.ts";

export interface HostRoutesOptions {
  hostTokens: Secrets;
  desk: NodeDesk;
  work: NodeWork;
}

export function hostRoutes(route: ConsoleRoute, guards: Guards, { hostTokens, desk, work }: HostRoutesOptions): void {
  route("GET", "/console/api/host-tokens", guards.host, async ({ account, query, json }) => {
    const { cursors } = work;
    const list = `host tokens ${account.id}`;
    json(await secretsPage({ secrets: hostTokens, cursors, list, accountId: account.id, query, show: tokenObject }));
  });
  route("POST", "/console/api/host-tokens", guards.host, async ({ account, fields, json }) => {
    const { name } = await fields(SecretName);
    const { id, token } = await issueSecret(hostTokens, account.id, name);
    json({ ...tokenObject((await hostTokens.find(account.id, id)) as SecretRecord), secret: token }, 201);
  });
  route("DELETE", "/console/api/host-tokens/:id", guards.host, async ({ account, params, json }) => {
    const id = parseId("hst", params.id ?? "");
    if (id === undefined || (await hostTokens.find(account.id, id)) === undefined) {
      throw fault("not_found", { message: "No such host token." });
    }
    // Revoking what is revoked changes nothing and is no mistake.
    await hostTokens.revoke(account.id, id);
    json(tokenObject((await hostTokens.find(account.id, id)) as SecretRecord));
  });

  route("GET", "/console/api/nodes", guards.host, async ({ account, query, json }) =>
    json(await desk.list(account.id, query)),
  );
  route("GET", "/console/api/nodes/:id", guards.host, async ({ account, params, json }) => {
    const node = await desk.own(account.id, params.id);
    json({ ...desk.show(node), stats: await desk.stats(account.id, params.id) });
  });
  route("PUT", "/console/api/nodes/:id/elections", guards.host, async ({ account, params, call, json }) => {
    await desk.own(account.id, params.id);
    json(await desk.elect(account.id, params.id, await call.readForm(account.id)));
  });
  for (const move of ["pause", "resume"] as const) {
    route("POST", `/console/api/nodes/:id/${move}`, guards.host, async ({ account, params, json }) =>
      json(await desk.move(account.id, params.id, move)),
    );
  }
  route("GET", "/console/api/node-models", guards.host, async ({ json }) => json(modelsForHosts(work.catalogue())));
}

function tokenObject({ id, name, reference, createdAt, lastUsedAt, revokedAt }: SecretRecord): object {
  return {
    id: publicId("hst", id),
    object: "host_token",
    name,
    start: `tht_live_${reference}`,
    created_at: seconds(createdAt),
    last_used_at: lastUsedAt === null ? null : seconds(lastUsedAt),
    revoked_at: revokedAt === null ? null : seconds(revokedAt),
  };
}
