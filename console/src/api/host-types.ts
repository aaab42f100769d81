/** A host's objects by the names the pages use. */
import type { components, operations } from "./schema.d.ts";

type Schemas = components["schemas"];

export type HostToken = Schemas["HostToken"];
export type Node = Schemas["Node"];
/** As lists show it, without the facts of its machine. */
export type ListedNode = Schemas["ListedNode"];
export type NodeList = Schemas["NodeList"];
export type NodeDetail = Schemas["NodeDetail"];
export type NodeState = Schemas["NodeState"];
export type NodeStats = Schemas["NodeStats"];
export type NodeModel = Schemas["NodeModel"];
export type Quarantine = Schemas["Quarantine"];
export type Earning = Schemas["Earning"];
export type EarningList = Schemas["EarningList"];
export type EarningSum = Schemas["EarningSum"];
export type EarningSumsQuery = NonNullable<operations["sumEarnings"]["parameters"]["query"]>;
