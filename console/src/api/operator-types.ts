/** The operators' objects by the names the pages use. */
import type { components } from "./schema.d.ts";

type Schemas = components["schemas"];

export type PlatformOverview = Schemas["Overview"];
export type TrafficHour = PlatformOverview["traffic"][number];
export type ModelCapacity = Schemas["ModelCapacity"];
/** The event `load` of the operators' stream. */
export type PlatformLoad = Schemas["LiveLoad"];
export type PlatformAccount = Schemas["PlatformAccount"];
/** As the list shows it, without the facts of its machine. */
export type PlatformNode = Schemas["ListedPlatformNode"];
export type PlatformNodeDetail = Schemas["PlatformNodeDetail"];
export type KeyLimitsRequest = Schemas["KeyLimitsRequest"];
export type Payout = Schemas["Payout"];
export type PayoutDetail = Schemas["PayoutDetail"];
export type PayoutLine = Schemas["PayoutLine"];
export type OperatorAction = Schemas["OperatorAction"];
export type BooksCheck = Schemas["BooksCheck"];
