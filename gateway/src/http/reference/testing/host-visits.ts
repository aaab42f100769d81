/** For tests: everything a host can ask of the console, and what is refused for its own reasons. */
import assert from "node:assert/strict";
import { publicId, type Uuid } from "../../../base/ids.ts";
import type { Cast } from "./cast.ts";
import { emptySecrets, fillSecrets } from "./filled.ts";

const API = "/console/api";

export async function visitTokens({ all: { browser }, platform, host }: Cast): Promise<void> {
  const { id, secret } = await browser.ask(201, "POST", `${API}/host-tokens`, { body: { name: "new" } });
  assert.match(String(secret), /^tht_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}$/);
  await browser.ask(200, "DELETE", `${API}/host-tokens/${id}`);
  await browser.ask(200, "GET", `${API}/host-tokens`);
  await browser.ask(400, "GET", `${API}/host-tokens?limit=0`);
  await browser.ask(400, "GET", `${API}/host-tokens?cursor=none`);
  await fillSecrets(platform.pool, "host_token", host);
  await browser.ask(409, "POST", `${API}/host-tokens`, { body: { name: "one too many" } });
  await emptySecrets(platform.pool, "host_token");
}

/** Nodes in every state, so that none is left out of the document. */
export async function visitNodes({ all: { browser }, platform, host, node }: Cast): Promise<void> {
  const { fleet } = platform;
  const register = (name: string) => fleet.register(host, { name, hardware: {}, agent: "" });
  const [fresh, barred, old] = [await register("fresh"), await register("barred"), await register("old")];
  await fleet.quarantine(barred.id, { reason: "a test", evidence: { tps: 9000 }, by: "platform" });
  await fleet.move(host, old.id, "retire");
  const at = (of: { id: Uuid }, path: string) => `${API}/nodes/${publicId("node", of.id)}${path}`;
  for (const one of [node, fresh, barred, old]) await browser.ask(200, "GET", at(one, ""));
  const { next_cursor } = await browser.ask(200, "GET", `${API}/nodes?limit=1`);
  await browser.ask(200, "GET", `${API}/nodes?cursor=${next_cursor}`);
  for (const wrong of ["limit=0", "cursor=none"]) await browser.ask(400, "GET", `${API}/nodes?${wrong}`);
  for (const move of ["pause", "resume"]) {
    await browser.ask(200, "POST", at(node, `/${move}`));
    await browser.ask(409, "POST", at(fresh, `/${move}`));
    await browser.ask(409, "POST", at(barred, `/${move}`));
  }
  const elect = (status: number, of: { id: Uuid }, models: string[]) =>
    browser.ask(status, "PUT", at(of, "/elections"), { body: { models } });
  await elect(200, node, ["tiny-3b", "small-8b"]);
  await elect(400, node, ["large-70b"]);
  await elect(409, old, ["tiny-3b"]);
  await browser.ask(200, "GET", `${API}/node-models`);
  const { data } = await browser.ask(200, "GET", `${API}/earnings?node=${node.name}`);
  assert.ok((data as object[]).length > 0);
  await browser.ask(400, "GET", `${API}/earnings?node=none`);
}

/** Each sum has the field that `by` names and the one that `split` names. */
export async function visitEarnings({ all: { browser }, node, request }: Cast): Promise<void> {
  for (const by of ["day", "hour", "node", "model"]) {
    for (const split of [undefined, "node", "model"].filter((split) => split !== by)) {
      const address = `${API}/earnings/sums?by=${by}${split === undefined ? "" : `&split=${split}`}`;
      const { data } = await browser.ask(200, "GET", address);
      for (const row of data as object[]) {
        const fields = ["day", "hour", "node", "model"].filter((field) => field in row);
        assert.deepEqual(new Set(fields), new Set(split === undefined ? [by] : [by, split]));
      }
    }
  }
  await browser.ask(200, "GET", `${API}/earnings/sums?node=${node.name}`);
  await browser.ask(400, "GET", `${API}/earnings/sums?node=none`);
  await browser.ask(400, "GET", `${API}/earnings/sums?from=2026-02-01&to=2026-01-01`);
  await browser.ask(400, "GET", `${API}/earnings/sums?by=hour&from=2026-01-01&to=2026-03-01`);
  await browser.ask(400, "GET", `${API}/earnings/sums?by=model&split=model`);
  const file = await browser.send("GET", `${API}/earnings.csv?node=${node.name}`);
  assert.match(file.text, /^request_id,finished_at,.*\r\nreq_/);
  await browser.ask(400, "GET", `${API}/earnings.csv?node=none`);
  await browser.ask(200, "GET", `${API}/earnings/${request}/receipt`);
}
