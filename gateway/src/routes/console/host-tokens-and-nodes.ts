/** The console's routes for hosts: their tokens and their nodes. */
import type { HostToken, hostRoutes } from "@tollgate/api/console/host-tokens-and-nodes.ts";
import type { z } from "zod";
import { parseId, publicId } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { toUnixSeconds } from "../../base/time.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import { type SecretRecord, TooManyActiveSecretsError } from "../../keys/secret-store.ts";
import type { KeyServices } from "../../keys/services.ts";
import { type MarketDependencies, readMarketForHost } from "../nodes/market.ts";
import { listModelsForHosts } from "../nodes/models.ts";
import {
  type NodeActivityDependencies,
  readHostActivity,
  readJobsPage,
  readNodeActivity,
} from "../nodes/node-activity.ts";
import { type NodeStatsDependencies, readNodeStats } from "../nodes/node-stats.ts";
import { type OwnNodesDependencies, ownNodeHandlers } from "../nodes/own-nodes.ts";
import { readSpotChecksPage, type SpotChecksDependencies } from "../nodes/spot-checks.ts";
import type { SiteServices } from "../services.ts";
import { readSecretsPage } from "./secrets-page.ts";

export function hostHandlers(
  parts: Pick<KeyServices, "hostTokens"> &
    Pick<SiteServices, "cursors"> &
    OwnNodesDependencies &
    NodeStatsDependencies &
    NodeActivityDependencies &
    MarketDependencies &
    SpotChecksDependencies,
): Handlers<typeof hostRoutes> {
  const { hostTokens, cursors, catalogue } = parts;
  const nodes = ownNodeHandlers(parts);
  return {
    async listHostTokens({ account, query }) {
      const list = `host tokens ${account.id}`;
      return readSecretsPage({ secrets: hostTokens, cursors, list, accountId: account.id, query, show: tokenObject });
    },

    async createHostToken({ account, body, refuse }) {
      const { id, token } = await hostTokens.issue(account.id, body().name).catch((cause) => {
        throw cause instanceof TooManyActiveSecretsError ? refuse("limit_reached", { cause }) : cause;
      });
      const record = await hostTokens.find(account.id, id);
      invariant(record !== undefined, "a token that was issued is there");
      return { ...tokenObject(record), secret: token };
    },

    async revokeHostToken({ account, params, refuse }) {
      const id = parseId("hst", params.id);
      const found = id === undefined ? undefined : await hostTokens.find(account.id, id);
      if (found === undefined) throw refuse("not_found");
      // Revoking a token again changes nothing and is not an error.
      await hostTokens.revoke(account.id, found.id);
      return tokenObject((await hostTokens.find(account.id, found.id)) ?? found);
    },

    listNodes: ({ account, query }) => nodes.list(account.id, query),

    async getNode({ account, params, refuse }) {
      const node = await nodes.find(account.id, params.id);
      if (node === undefined) throw refuse("node_not_found");
      return { ...nodes.show(node), stats: await readNodeStats(parts, node) };
    },

    electModels: ({ account, params, body, refuse }) => nodes.elect(account.id, params.id, () => body().models, refuse),
    pauseNode: ({ account, params, refuse }) => nodes.move(account.id, params.id, "pause", refuse),
    resumeNode: ({ account, params, refuse }) => nodes.move(account.id, params.id, "resume", refuse),
    renameNode: ({ account, params, body, refuse }) => nodes.rename(account.id, params.id, () => body().name, refuse),
    retireNode: ({ account, params, refuse }) => nodes.retire(account.id, params.id, refuse),

    getInsight: ({ account, query }) => readHostActivity(parts, account.id, query),

    async getNodeInsight({ account, params, query, refuse }) {
      const node = await nodes.find(account.id, params.id);
      if (node === undefined) throw refuse("node_not_found");
      return readNodeActivity(parts, node, query);
    },

    async listJobs({ account, params, query, refuse }) {
      const node = await nodes.find(account.id, params.id);
      if (node === undefined) throw refuse("node_not_found");
      return readJobsPage(parts, node.id, query);
    },

    async listChecks({ account, params, query, refuse }) {
      const node = await nodes.find(account.id, params.id);
      if (node === undefined) throw refuse("node_not_found");
      return readSpotChecksPage(parts, node.id, query);
    },

    async getMarket({ account, query, refuse }) {
      const node = query.node === undefined ? undefined : await nodes.find(account.id, query.node);
      if (query.node !== undefined && node === undefined) throw refuse("node_not_found");
      return readMarketForHost(parts, account.id, node);
    },

    listNodeModels: async () => listModelsForHosts(catalogue()),
  };
}

function tokenObject({
  id,
  name,
  reference,
  createdAt,
  lastUsedAt,
  revokedAt,
}: SecretRecord): z.input<typeof HostToken> {
  return {
    id: publicId("hst", id),
    object: "host_token",
    name,
    start: `tht_live_${reference}`,
    created_at: toUnixSeconds(createdAt),
    last_used_at: lastUsedAt === null ? null : toUnixSeconds(lastUsedAt),
    revoked_at: revokedAt === null ? null : toUnixSeconds(revokedAt),
  };
}
