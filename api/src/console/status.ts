/** The public status at a path of the console API. It returns the same document as `/status.json`. */
import { Status, sampleStatus } from "../public/status.ts";
import { declareRoutes } from "../route-declaration.ts";

export const statusResponseSchemas = { Status };

export const statusRoutes = declareRoutes({
  getStatus: {
    at: "GET /console/api/status",
    summary: "Get the platform's status",
    description:
      "The same document as `/status.json` of the public API. Answers without the database and without a session. Returns 404 if the operator has turned the status page off.",
    guard: "anyone",
    answer: { description: "The platform's status.", json: Status, example: sampleStatus },
  },
});
