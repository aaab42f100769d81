import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostToken, ListedNode } from "../../../api/answer-types.ts";
import { computeSetupProgress } from "./setup-progress.ts";

const node = (id: string, more: Partial<ListedNode> = {}): ListedNode => ({
  id,
  object: "node",
  name: id,
  state: "registered",
  models: [],
  agent: "",
  quarantine: null,
  probation: null,
  withheld: null,
  created_at: 1,
  ...more,
});
const token = (start: string, usedAt: number | null): HostToken => ({
  id: `hst_${start}`,
  object: "host_token",
  name: "t",
  start,
  created_at: 1,
  last_used_at: usedAt,
  revoked_at: null,
});

test("counts a setup step as done only if a new node or the token created on the page completed it", () => {
  const before = new Set(["node_old"]);
  const old = node("node_old", { state: "online", models: ["tiny-3b"] });
  const seen = { nodes: [old], tokens: [token("tht_live_a", 5), token("tht_live_b", null)], secret: "tht_live_b_s" };
  assert.deepEqual(computeSetupProgress(seen, before), {
    node: undefined,
    loggedIn: false,
    elected: false,
    online: false,
  });
  const fresh = node("node_new", { state: "ready", models: ["tiny-3b"] });
  const later = computeSetupProgress({ ...seen, nodes: [old, fresh], tokens: [token("tht_live_b", 9)] }, before);
  assert.deepEqual(later, { node: fresh, loggedIn: true, elected: true, online: false });
});

test("finds the node that was registered with the page's token while the page was closed", () => {
  const mine = node("node_mine", { state: "online", models: ["tiny-3b"], created_at: 5 });
  const seen = { nodes: [node("node_old"), mine], tokens: [{ ...token("tht_live_b", 6), created_at: 4 }] };
  const before = new Set(["node_old", "node_mine"]);
  assert.equal(computeSetupProgress({ ...seen, secret: "tht_live_b_s" }, before).node, mine);
  assert.equal(computeSetupProgress({ ...seen, secret: undefined }, before).node, undefined);
});
