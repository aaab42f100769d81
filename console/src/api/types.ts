/** The API's objects by the names the pages use. Money is microdollars as text, times are Unix seconds. */
import type { components as publicComponents } from "./public.d.ts";
import type { components, operations } from "./schema.d.ts";

type Schemas = components["schemas"];

export type Identity = Schemas["Identity"];
export type Account = Schemas["Account"];
export type AccountKind = Schemas["AccountKind"];
export type Me = Schemas["Me"];
export type Session = Schemas["Session"];
export type SignInStatus = Schemas["SignInStep"]["status"];

export type ApiKey = Schemas["ApiKey"];
export type RequestRecord = Schemas["Request"];
export type RequestList = Schemas["RequestList"];
export type RequestOutcome = Schemas["RequestOutcome"];
export type Balance = Schemas["Balance"];
export type LiveRequests = Schemas["LiveRequests"];
export type UsageRow = Schemas["UsageRow"];
export type UsageQuery = NonNullable<operations["getUsage"]["parameters"]["query"]>;
export type LedgerEntry = Schemas["LedgerEntry"];
export type Quote = Schemas["Quote"];
export type QuoteRequest = Schemas["QuoteRequest"];
export type LiveModel = Schemas["LiveModel"];

/** The filters of the history; a page's cursor and size are not among them. */
export type RequestFilter = Omit<NonNullable<operations["listRequests"]["parameters"]["query"]>, "cursor" | "limit">;

/** An entry of /v1/catalog/rates, which anybody may read. */
export type Rate = publicComponents["schemas"]["Rate"];
