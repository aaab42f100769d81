/** POST /v1/completions. An array of prompts is joined to one prompt, which gets one completion. */
import { publicRoutes } from "@tollgate/api/public/routes.ts";
import type { ResponseJsonOf } from "@tollgate/api/route-declaration.ts";
import { parseFields } from "../../http/parse-fields.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import {
  convertOutputFormat,
  makeGenerationRequest,
  removeUnusedStreamOptions,
  usageObject,
} from "./generation-request.ts";

const route = publicRoutes.createCompletion;

export const completions: Endpoint = {
  name: "completion",
  schema: "completion",
  kind: "generation",

  parse(body) {
    const fields = parseFields(route.body.fields, removeUnusedStreamOptions(body));
    const text = typeof fields.prompt === "string" ? fields.prompt : fields.prompt.join("\n");
    return {
      ...makeGenerationRequest(fields, body),
      prompt: { kind: "text", text },
      promptField: "prompt",
      body: { prompt: text, ...convertOutputFormat(fields) },
      vectorsDue: 0,
    };
  },

  whole(meta, { text, finish, usage }) {
    return JSON.stringify({
      id: `cmpl-${meta.suffix}`,
      object: "text_completion",
      created: meta.created,
      model: meta.model,
      choices: [{ index: 0, text, finish_reason: finish }],
      usage: usageObject(usage),
    } satisfies ResponseJsonOf<typeof route>);
  },

  stream(meta, { includeUsage }) {
    const head = JSON.stringify({
      id: `cmpl-${meta.suffix}`,
      object: "text_completion",
      created: meta.created,
      model: meta.model,
    }).slice(0, -1);
    const tail = includeUsage ? ',"usage":null}' : "}";
    const chunk = (text: string, finish: string): string =>
      `${head},"choices":[{"index":0,"text":${text},"finish_reason":${finish}}]${tail}`;
    return {
      open: () => null,
      delta: (text) => chunk(JSON.stringify(text), "null"),
      thought: null,
      finish: ({ finish }) => chunk('""', `"${finish}"`),
      usage: (usage) => `${head},"choices":[],"usage":${JSON.stringify(usageObject(usage))}}`,
    };
  },
};
