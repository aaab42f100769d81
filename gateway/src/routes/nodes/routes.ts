/** The node API for agents and the host CLI. Every route acts for the account that owns the host token. */
import { nodeRoutes as declared } from "@tollgate/api/nodes/routes.ts";
import { nodePermissions } from "@tollgate/protocol/nats-subjects.ts";
import type { FastifyInstance } from "fastify";
import { parseId, publicId } from "../../base/ids.ts";
import { rateLimitedLog } from "../../base/rate-limited-log.ts";
import { ruleViolation } from "../../faults.ts";
import { TooManyNodes } from "../../fleet/fleet.ts";
import type { HistoryServices } from "../../history/services.ts";
import { hostTokenGuard } from "../../http/guards.ts";
import { createRequestNotFoundFault } from "../../http/lists/no-such-request.ts";
import { type Handlers, serveRoutes } from "../../http/serve-routes.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { UnpaidJobResult } from "../../inference/unpaid-job.ts";
import type { KeyServices } from "../../keys/services.ts";
import type { ActiveModel } from "../../metering/catalogue.ts";
import type { SiteServices } from "../services.ts";
import { type EarningsDependencies, readEarningsPage, readWithheldEarningsPage } from "./earnings.ts";
import { type MarketDependencies, readMarketForHost } from "./market.ts";
import { listModelsForHosts } from "./models.ts";
import { type NodeActivityDependencies, readHostActivity, readJobsPage, readNodeActivity } from "./node-activity.ts";
import { type NodeStatsDependencies, readNodeStats, roundToTenth } from "./node-stats.ts";
import { formatNotAllowedMessage, type OwnNodesDependencies, ownNodeHandlers } from "./own-nodes.ts";
import type { NodeServices } from "./services.ts";
import { readSpotChecksPage, type SpotChecksDependencies } from "./spot-checks.ts";

type NodeApiParts = OwnNodesDependencies &
  NodeStatsDependencies &
  EarningsDependencies &
  NodeActivityDependencies &
  MarketDependencies &
  SpotChecksDependencies &
  Pick<SiteServices, "door" | "log" | "newId"> &
  Pick<KeyServices, "hostTokens"> &
  Pick<NodeServices, "mint"> &
  Pick<InferenceServices, "runPrivately"> &
  Pick<HistoryServices, "history" | "receipts">;

export function registerNodeRoutes(app: FastifyInstance, parts: NodeApiParts): void {
  const guards = hostTokenGuard(parts.hostTokens);
  serveRoutes(app, { door: parts.door, guards }, declared, nodeHandlers(parts));
}

function nodeHandlers(parts: NodeApiParts): Handlers<typeof declared> {
  const { fleet, catalogue, history, receipts, mint } = parts;
  const log = rateLimitedLog(parts.log, parts.door.clock);
  const nodes = ownNodeHandlers(parts);
  return {
    async registerNode({ accountId, body, refuse }) {
      const node = await fleet.register(accountId, body()).catch((cause) => {
        throw cause instanceof TooManyNodes ? refuse("too_many_nodes", { message: cause.message, cause }) : cause;
      });
      return nodes.show(node);
    },

    listNodes: ({ accountId, query }) => nodes.list(accountId, query),

    async getNode({ accountId, params, refuse }) {
      const node = await nodes.find(accountId, params.id);
      if (node === undefined) throw refuse("node_not_found");
      return nodes.show(node);
    },

    electModels: ({ accountId, params, body, refuse }) =>
      nodes.elect(accountId, params.id, () => body().models, refuse),
    pauseNode: ({ accountId, params, refuse }) => nodes.move(accountId, params.id, "pause", refuse),
    resumeNode: ({ accountId, params, refuse }) => nodes.move(accountId, params.id, "resume", refuse),

    renameNode: ({ accountId, params, body, refuse }) => nodes.rename(accountId, params.id, () => body().name, refuse),
    retireNode: ({ accountId, params, refuse }) => nodes.retire(accountId, params.id, refuse),

    getInsight: ({ accountId, query }) => readHostActivity(parts, accountId, query),

    async getNodeInsight({ accountId, params, query, refuse }) {
      const node = await nodes.find(accountId, params.id);
      if (node === undefined) throw refuse("node_not_found");
      return readNodeActivity(parts, node, query);
    },

    async listJobs({ accountId, params, query, refuse }) {
      const node = await nodes.find(accountId, params.id);
      if (node === undefined) throw refuse("node_not_found");
      return readJobsPage(parts, node.id, query);
    },

    async listChecks({ accountId, params, query, refuse }) {
      const node = await nodes.find(accountId, params.id);
      if (node === undefined) throw refuse("node_not_found");
      return readSpotChecksPage(parts, node.id, query);
    },

    async getMarket({ accountId, query, refuse }) {
      const node = query.node === undefined ? undefined : await nodes.find(accountId, query.node);
      if (query.node !== undefined && node === undefined) throw refuse("node_not_found");
      return readMarketForHost(parts, accountId, node);
    },

    async getNodeStats({ accountId, params, refuse }) {
      const node = await nodes.find(accountId, params.id);
      if (node === undefined) throw refuse("node_not_found");
      return readNodeStats(parts, node);
    },

    /** Sends a trial request to the host's own node. It is neither charged nor recorded. */
    async tryNode({ accountId, params, body, call, refuse }) {
      const node = await nodes.find(accountId, params.id);
      if (node === undefined) throw refuse("node_not_found");
      const { model: modelId, prompt, max_tokens } = body();
      const model = catalogue().active.get(modelId);
      if (model === undefined) throw ruleViolation("model", "must be the ID of an active model in the catalogue");
      const outputTokensMax = model.kind === "embedding" ? 0 : max_tokens;
      const job = {
        id: parts.newId(),
        nodeId: publicId("node", node.id),
        model,
        messages: [{ role: "user", content: prompt }],
        texts: [prompt],
        outputTokensMax,
      };
      const result = await parts.runPrivately(job, call.cancelSignal);
      if (result === undefined) {
        const message =
          node.withheld === null
            ? `The node is not connected, or does not serve ${model.id} right now.`
            : "The node gets no requests while another node of the same host is in quarantine.";
        throw refuse("node_state_conflict", { message });
      }
      if (result.end === "no_capacity") throw refuse("node_state_conflict");
      if (result.end === "failed") throw refuse("upstream_failed");
      if (result.end === "quiet") throw refuse("upstream_stall");
      return tryObject(model, result);
    },

    async issueCredentials({ accountId, params, refuse }) {
      const node = await nodes.find(accountId, params.id);
      if (node === undefined) throw refuse("node_not_found");
      if (node.standing === "quarantined") throw refuse("node_quarantined");
      if (node.standing === "retired")
        throw refuse("node_state_conflict", { message: formatNotAllowedMessage("retired") });
      if (node.models.length === 0) throw refuse("no_elected_builds");
      if (mint === undefined) throw refuse("not_implemented");
      const nodeId = publicId("node", node.id);
      const minted = await mint(nodeId).catch((cause) => {
        log.error(
          nodeId,
          { node: nodeId, err: cause },
          "could not issue the node's credentials for the dispatch plane (message server)",
        );
        throw refuse("dispatch_admin_error", { cause });
      });
      const { active } = catalogue();
      return {
        plane_url: minted.url,
        jwt: minted.jwt,
        seed: minted.seed,
        expires_at: Math.floor(minted.expiresAt / 1000),
        subjects: nodePermissions(nodeId),
        builds: node.models.flatMap((model) => {
          const build = active.get(model)?.build;
          return build === undefined ? [] : [{ model, build: build.id, tokenizer: build.tokenizer }];
        }),
      };
    },

    listModels: async () => listModelsForHosts(catalogue()),
    listEarnings: ({ accountId, query }) => readEarningsPage(parts, accountId, query),

    listWithheld: ({ accountId, query }) => readWithheldEarningsPage(parts, accountId, query),

    async getReceipt({ accountId, params, refuse }) {
      const id = parseId("req", params.id);
      const record = id === undefined ? undefined : await history.findServed(accountId, id);
      if (record === undefined) throw await createRequestNotFoundFault(history, id, refuse);
      return receipts.of(record);
    },
  };
}

function tryObject(model: ActiveModel, result: UnpaidJobResult) {
  const { text, reasoning, vectors, finish, promptTokens, completionTokens, ttftMs, tokensPerSecond } = result;
  return {
    object: "node_try" as const,
    model: model.id,
    text,
    ...(model.build.reasoning !== undefined && { vendor_reasoning_content: reasoning }),
    ...(model.kind === "embedding" && { vectors: { count: vectors.length, width: vectors[0]?.length ?? 0 } }),
    finish_reason: finish,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    ttft_ms: roundToTenth(ttftMs),
    tps: roundToTenth(tokensPerSecond),
  };
}
