/** POST /v1/chat/completions. */
import { isCommonChatRequest } from "@tollgate/api/public/common-chat-check.ts";
import { publicRoutes } from "@tollgate/api/public/routes.ts";
import type { ResponseJsonOf } from "@tollgate/api/route-declaration.ts";
import { parseFields } from "../../http/parse-fields.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import { renderRole } from "../../metering/chat-templates.ts";
import {
  convertOutputFormat,
  makeGenerationRequest,
  removeUnusedStreamOptions,
  usageObject,
} from "./generation-request.ts";

const route = publicRoutes.createChatCompletion;

export const chat: Endpoint = {
  name: "chat",
  schema: "chat",
  kind: "generation",

  parse(body) {
    const fields = isCommonChatRequest(body) ? body : parseFields(route.body.fields, removeUnusedStreamOptions(body));
    const messages = fields.messages.map(({ role, content }) => ({
      // Tokens are counted with the rendered role (the name that the prompt template uses), so the node must get the
      // same one.
      role: renderRole(role),
      content: typeof content === "string" ? content : (content ?? []).map((part) => part.text).join(""),
    }));
    return {
      ...makeGenerationRequest(fields, body),
      prompt: { kind: "chat", messages },
      promptField: "messages",
      body: { messages, ...convertOutputFormat(fields) },
      vectorsDue: 0,
    };
  },

  whole(meta, { text, reasoning, finish, usage }) {
    const thinking = reasoning !== undefined && {
      vendor_reasoning_content: reasoning,
      ...(meta.reasoningContent === true && { reasoning_content: reasoning }),
    };
    return JSON.stringify({
      id: `chatcmpl-${meta.suffix}`,
      object: "chat.completion",
      created: meta.created,
      model: meta.model,
      choices: [{ index: 0, message: { role: "assistant", content: text, ...thinking }, finish_reason: finish }],
      usage: usageObject(usage),
    } satisfies ResponseJsonOf<typeof route>);
  },

  stream(meta, { includeUsage }) {
    // Each chunk is a fixed JSON text around the delta: serializing an object per delta costs six times as much.
    const head = JSON.stringify({
      id: `chatcmpl-${meta.suffix}`,
      object: "chat.completion.chunk",
      created: meta.created,
      model: meta.model,
    }).slice(0, -1);
    const tail = includeUsage ? ',"usage":null}' : "}";
    const chunk = (delta: string, finish: string): string =>
      `${head},"choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]${tail}`;
    return {
      open: () => chunk('{"role":"assistant","content":""}', "null"),
      delta: (text) => chunk(`{"content":${JSON.stringify(text)}}`, "null"),
      thought:
        meta.reasoningContent === true
          ? (text) => chunk(`{"reasoning_content":${JSON.stringify(text)}}`, "null")
          : null,
      finish: ({ finish, reasoning }) =>
        chunk(
          reasoning === undefined ? "{}" : `{"vendor_reasoning_content":${JSON.stringify(reasoning)}}`,
          `"${finish}"`,
        ),
      usage: (usage) => `${head},"choices":[],"usage":${JSON.stringify(usageObject(usage))}}`,
    };
  },
};
