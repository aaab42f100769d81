/** Formats an operation as a curl command. IDs are shell variables. */

import type { Endpoint } from "@tollgate/api/openapi/openapi-types.ts";
import type { CallExamples } from "../../../gateway/src/site/reference/api-documents.ts";

export function curlCommand(endpoint: Endpoint, { credential }: CallExamples): string {
  const { method, path } = endpoint;
  const address = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => `$${name.toUpperCase()}`);
  const sample = exampleBody(endpoint);
  const verb = method.toUpperCase();
  const implied = sample === undefined ? "GET" : "POST";
  const lines = [`curl "$TOLLGATE_BASE_URL${address}"`, ...(verb === implied ? [] : [`-X ${verb}`])];
  lines.push(...credential(endpoint));
  if (sample !== undefined) {
    lines.push('-H "content-type: application/json"');
    const json = JSON.stringify(sample, null, 2).replaceAll("\n", "\n  ");
    lines.push(`-d '${json.replaceAll("'", "'\\''")}'`);
  }
  return lines.join(" \\\n  ");
}

/** Returns the first example of an operation's request body. */
export function exampleBody({ operation }: Endpoint): object | undefined {
  const [sample] = Object.values(operation.requestBody?.content["application/json"]?.examples ?? {});
  return sample?.value as object | undefined;
}
