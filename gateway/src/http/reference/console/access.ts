/** Who is let in to a route of the console, as its document says it: what guards.ts and router.ts refuse with. */
import { invalidRequest } from "../../../faults.ts";
import { ACCOUNT_HEADER, type Guards } from "../../console/guards.ts";
import type { Access, EndpointSpec } from "../endpoints.ts";
import { codes } from "../fault-answers.ts";
import type { Parameter } from "../openapi.ts";

export const ACCOUNT_PARAMETER: Parameter = {
  name: ACCOUNT_HEADER,
  in: "header",
  required: false,
  description:
    "The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have.",
  schema: { type: "string" },
};

const ACTING = {
  parameters: ["account"],
  faults: [
    ...codes("not_authenticated", "no_account", "account_suspended"),
    invalidRequest(ACCOUNT_HEADER, `${ACCOUNT_HEADER} must name an account of yours (acc_…).`),
  ],
};

const ACCESS: Record<keyof Guards, Access> = {
  anyone: { open: true, parameters: [], faults: [] },
  signedIn: { open: false, parameters: [], faults: codes("not_authenticated") },
  builder: { open: false, ...ACTING, faults: [...ACTING.faults, ...codes("member_only")] },
  buyer: { open: false, ...ACTING, faults: [...ACTING.faults, ...codes("member_only", "not_a_builder")] },
  host: { open: false, ...ACTING, faults: [...ACTING.faults, ...codes("host_only")] },
  operator: { open: false, parameters: [], faults: codes("not_authenticated", "operator_only") },
};

export type ConsoleSpec = Omit<EndpointSpec, "access"> & { guard: keyof Guards };

/** What changes something has to come from our own pages. */
export function guarded({ guard, ...spec }: ConsoleSpec): EndpointSpec {
  const access = ACCESS[guard];
  if (spec.at.startsWith("GET ")) return { ...spec, access };
  return { ...spec, access: { ...access, faults: [...codes("cross_site_blocked"), ...access.faults] } };
}
