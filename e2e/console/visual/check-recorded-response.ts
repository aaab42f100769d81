/** Checks a recorded response against the API declarations in `api/`. */
import { consoleApi } from "@tollgate/api/console/api.ts";
import { listRouteErrors, makeErrorEnvelopeSchema } from "@tollgate/api/openapi/error-responses.ts";
import { publicApi } from "@tollgate/api/public/api.ts";
import type { Route } from "@tollgate/api/route-declaration.ts";
import type { RecordedEvent, RecordedResponse } from "./recording-files.ts";

const ROUTES: Route[] = [consoleApi, publicApi].flatMap(({ tables }) =>
  tables.flatMap(({ routes }): Route[] => Object.values(routes)),
);

/** Returns the fields that do not match the declaration, each with its path; empty if all match. */
export function findDeclarationMismatches(recorded: RecordedResponse): string[] {
  const [method, address = ""] = recorded.request.split(" ");
  const { pathname, searchParams } = new URL(address, "http://gateway");
  const route = routeOf(`${method} ${pathname}`);
  if (route === undefined) return [`no route is declared for ${recorded.request}`];
  return [
    ...misfits("query", route.query, Object.fromEntries(searchParams)),
    ...misfits("sent", route.body?.fields, recorded.sent),
    ...answerMisfits(route, recorded),
  ];
}

/** Routes with fewer parameters are tried first, as on the server. */
function routeOf(place: string): Route | undefined {
  const parameters = ({ at }: Route): number => at.split("{").length;
  const fits = ({ at }: Route): boolean =>
    new RegExp(`^${at.replaceAll(/\{\w+\}|\./g, (part) => (part === "." ? "\\." : "[^/]+"))}$`).test(place);
  return ROUTES.filter(fits).toSorted((a, b) => parameters(a) - parameters(b))[0];
}

function answerMisfits(route: Route, { status, body, events }: RecordedResponse): string[] {
  const { answer } = route;
  if (status === (answer.status ?? 200)) {
    return events === undefined
      ? misfits("body", answer.json, body)
      : events.flatMap((one, i) => eventMisfits(route, one, i));
  }
  const faults = listRouteErrors(route).filter((fault) => fault.status === status);
  return faults.length === 0
    ? [`status: ${route.at} does not answer ${status}`]
    : misfits("body", makeErrorEnvelopeSchema(faults), body);
}

function eventMisfits({ at, answer: { events } }: Route, { event, data }: RecordedEvent, index: number): string[] {
  if (data === "[DONE]") return [];
  const schema = event === undefined ? events?.each : events?.named?.[event];
  const where = `events.${index}`;
  return schema === undefined
    ? [`${where}: ${at} declares no event ${event ?? ""}`]
    : misfits(`${where}.data`, schema, data);
}

function misfits(
  where: string,
  schema: Route["query"] | NonNullable<Route["body"]>["fields"],
  value: unknown,
): string[] {
  const { success, error } = schema?.safeParse(value) ?? { success: true };
  return success ? [] : (error?.issues ?? []).map(({ path, message }) => `${[where, ...path].join(".")}: ${message}`);
}
