/** For tests: the people who call the console, signed in, and the things that stand for the ids in its paths. */
import type { AccountKind } from "../../../accounts/accounts.ts";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { openPlatform, serveRequest, type TestPlatform } from "./platform.ts";
import { WatchedBrowser } from "./watched.ts";
import type { Witness } from "./witness.ts";

export interface Visitor {
  browser: WatchedBrowser;
  email: string;
  accountIds: Uuid[];
}

export interface Cast {
  platform: TestPlatform;
  witness: Witness;
  /** A new person with these accounts, signed in. */
  join(kinds?: AccountKind[], more?: { operator?: boolean; suspended?: boolean }): Promise<Visitor>;
  stranger(): WatchedBrowser;
  /** Has a builder and a host account and runs the platform. */
  all: Visitor;
  builder: Uuid;
  host: Uuid;
  /** A node of the host that is connected and serves tiny-3b. */
  node: { id: Uuid; name: string };
  /** A key of the builder, and a request that it made and the node served. */
  key: { id: Uuid; name: string };
  request: string;
}

export async function openCast(witness: Witness): Promise<Cast> {
  const platform = await openPlatform();
  const { apiKeys, fleet, world } = platform;
  const stranger = () => new WatchedBrowser(witness, platform);
  const join: Cast["join"] = async (kinds = [], { operator = false, suspended = false } = {}) => {
    const person = await platform.person(
      kinds.map((kind) => ({ kind, suspended })),
      { operator },
    );
    const browser = stranger();
    await browser.enter(platform, person.identityId);
    return { browser, ...person };
  };
  const all = await join(["builder", "host"], { operator: true });
  const [builder, host] = all.accountIds as [Uuid, Uuid];
  const { id: keyId } = await apiKeys.issue(builder, "a key");
  const { id: nodeId } = await fleet.register(host, { name: "a node", hardware: { gpu: "none" }, agent: "test/1" });
  await fleet.elect(host, nodeId, ["tiny-3b"]);
  world.connected.add(publicId("node", nodeId));
  const request = await serveRequest(platform, { builder, keyId, host, nodeId });
  return {
    platform,
    witness,
    join,
    stranger,
    all,
    builder,
    host,
    node: { id: nodeId, name: publicId("node", nodeId) },
    key: { id: keyId, name: publicId("key", keyId) },
    request,
  };
}
