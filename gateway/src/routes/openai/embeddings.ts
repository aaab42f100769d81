/** POST /v1/embeddings. Vectors are float arrays at the model's native width, one per input, in order. */
import { IGNORED_EMBEDDING_FIELDS, IGNORED_FIELDS } from "@tollgate/api/public/ignored-fields.ts";
import { publicRoutes } from "@tollgate/api/public/routes.ts";
import type { ResponseJsonOf } from "@tollgate/api/route-declaration.ts";
import { listPresentFields, parseFields } from "../../http/parse-fields.ts";
import type { Answer, AnswerMeta, ClientSdk, Endpoint, ParsedRequest } from "../../inference/endpoint.ts";
import { readRequestLabel } from "./request-label.ts";

const route = publicRoutes.createEmbedding;
type List = ResponseJsonOf<typeof route>;
/** The API does not declare base64, because only clients that cannot decode floats get it. */
type Entry = Omit<List["data"][number], "embedding"> & { embedding: number[] | string };

/**
 * `base64Compat`: sends base64 to versions of OpenAI's JavaScript library that turn floats into zeros after asking for
 * base64.
 */
export function embeddingsEndpoint({ base64Compat }: { base64Compat: boolean }): Endpoint {
  return {
    name: "embedding",
    schema: "embedding",
    kind: "embedding",

    parse(body, sdk = null) {
      const { model, input } = parseFields(route.body.fields, body);
      const texts = typeof input === "string" ? [input] : input;
      const { encoding_format: asked } = body as { encoding_format?: unknown };
      const vectorsAs = base64Compat && asked === "base64" && corruptsFloats(sdk) ? "base64" : "floats";
      const ignored = listPresentFields(body, [...IGNORED_FIELDS, ...IGNORED_EMBEDDING_FIELDS]);
      return {
        model,
        prompt: { kind: "texts", texts },
        promptField: "input",
        body: { input: texts },
        vectorsDue: texts.length,
        stream: false,
        includeUsage: false,
        outputTokensMax: undefined,
        sampling: {},
        formatted: false,
        keywords: [],
        vectorsAs,
        ...readRequestLabel(body),
        ignored: vectorsAs === "base64" ? ignored.filter((name) => name !== "encoding_format") : ignored,
      };
    },

    whole: (meta, answer, ask) => [...listParts(meta, answer, ask)].join(""),

    parts: listParts,

    stream: null,
  };
}

/** Yields one part per vector: serializing two thousand vectors (40 MB of digits) at once would block for 1.5 s. */
function* listParts(
  meta: AnswerMeta,
  { vectors, usage }: Pick<Answer, "vectors" | "usage">,
  ask?: Pick<ParsedRequest, "vectorsAs">,
): Generator<string> {
  const shown = ask?.vectorsAs === "base64" ? base64 : (vector: Float32Array) => Array.from(vector);
  yield '{"object":"list","data":[';
  for (const [index, vector] of vectors.entries()) {
    const entry = JSON.stringify({ object: "embedding", index, embedding: shown(vector) } satisfies Entry);
    yield index === 0 ? entry : `,${entry}`;
  }
  const { promptTokens } = usage;
  const rest: Pick<List, "model" | "usage"> = {
    model: meta.model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  };
  yield `],${JSON.stringify(rest).slice(1)}`;
}

/** The endpoint as documented: it returns floats, whichever encoding the client asks for. */
export const embeddings = embeddingsEndpoint({ base64Compat: false });

/**
 * OpenAI's library for JavaScript, versions 4.91 to 7.11, asks for base64 by default and decodes every response as
 * base64.
 */
function corruptsFloats(sdk: ClientSdk | null): boolean {
  if (sdk?.language !== "js") return false;
  const match = /^(\d+)\.(\d+)\./.exec(sdk.version);
  if (match === null) return false;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return (major > 4 || (major === 4 && minor >= 91)) && (major < 7 || (major === 7 && minor <= 11));
}

/** Little-endian 32-bit floats as base64, as in OpenAI's API. */
function base64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(value, i * 4);
  return bytes.toString("base64");
}
