/** For tests: the codes that a document lists. */
import { type Document, follow, operationsOf, type Response } from "../openapi.ts";

export function codesOf(document: Document): { status: number; code: string }[] {
  return operationsOf(document).flatMap(({ operation }) =>
    Object.entries(operation.responses)
      .filter(([status]) => Number(status) >= 400)
      .flatMap(([status, response]) => {
        const examples = follow<Response>(document, response).content?.["application/json"]?.examples ?? {};
        return Object.keys(examples).map((code) => ({ status: Number(status), code }));
      }),
  );
}
