/** The platform's incidents, and operators' public notes about them. */
import type { operatorIncidentRoutes } from "@tollgate/api/console/operator-incidents.ts";
import { parseId, publicId } from "../../../base/ids.ts";
import { DAY_MS, toUnixSeconds } from "../../../base/time.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { Incident } from "../../../operators/incidents/incident-records.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import type { SiteServices } from "../../services.ts";

const INCIDENTS_SPAN_MS = 90 * DAY_MS;
export const INCIDENTS_MAX = 50;

export function operatorIncidentHandlers(
  parts: Pick<OperatorServices, "audit" | "incidents"> & Pick<SiteServices, "now" | "status">,
): Handlers<typeof operatorIncidentRoutes> {
  const { audit, incidents, now, status } = parts;
  return {
    async listIncidents() {
      const at = now();
      const found = await incidents.list({ from: new Date(at - INCIDENTS_SPAN_MS), limit: INCIDENTS_MAX });
      return {
        object: "incidents",
        as_of: Math.floor(at / 1000),
        is_public: status.isPublic,
        data: found.map(incidentObject),
      };
    },

    async postIncidentUpdate({ who, params, body, refuse }) {
      const id = parseId("inc", params.id);
      if (id === undefined || (await incidents.find(id)) === undefined) throw refuse("not_found");
      const { text } = body();
      const act = { operator: who.email, action: "incident.update", subject: params.id, details: { text } };
      const incident = await audit.record(act, async () => {
        await incidents.post(id, text, now());
        return incidents.find(id);
      });
      if (incident === undefined) throw refuse("not_found");
      return incidentObject(incident);
    },
  };
}

const incidentObject = ({ id, model, state, cause, beganAt, endedAt, updates }: Incident) => ({
  id: publicId("inc", id),
  object: "incident" as const,
  model,
  state,
  cause,
  from: toUnixSeconds(beganAt),
  to: endedAt && toUnixSeconds(endedAt),
  updates: updates.map(({ at, text }) => ({ at: toUnixSeconds(at), text })),
});
