/** The words of the document. Paragraphs, lists with hyphens and `code`: nothing else of Markdown is used. */
import { STREAMED_CODES } from "./refusals.ts";

const paragraphs = (...texts: string[]): string => texts.join("\n\n");

export const SUMMARY = "Prepaid, metered text generation and embeddings in the OpenAI dialect.";

export const INTRODUCTION = paragraphs(
  "A client of the OpenAI dialect changes only its base address, which ends in `/v1`, and its key. Bodies are JSON in UTF-8, uncompressed, of at most 10 MiB.",
  "In a request body, `null` in a field means that the field is absent, and fields that are not listed here are ignored. Answers may gain fields; ignore what you do not know.",
  "Credits are prepaid. A request reserves the price of its prompt and of its largest possible output, which `max_tokens` sets; when it ends it is charged for the tokens that the gateway counted, and the rest is given back at once. Money is in microdollars: $1 is 1,000,000.",
  "Every error has the same envelope. Branch on `code`, never on the message. Every response carries `x-request-id`. A path that does not exist is a 404 of type `not_found_error`, a wrong method a 405 with `allow`; neither has a code.",
);

export const KEYS =
  "`Authorization: Bearer tsk_live_<reference>_<secret>`. A missing, malformed, unknown or revoked key is always the same 401.";

export const TAGS = [
  { name: "Generation", description: "Text from a prompt." },
  { name: "Embeddings", description: "Vectors from texts." },
  { name: "Catalogue", description: "The models and their prices." },
  { name: "Receipts", description: "Proof of what was counted and charged." },
];

const IGNORED =
  "`tools`, `tool_choice`, `parallel_tool_calls`, `logprobs`, `top_logprobs`, `logit_bias`, `user`, `store`, `metadata` and `reasoning_effort`";

export const CHAT = paragraphs(
  "Exactly one choice is returned. `max_tokens` caps the output and sizes the reservation; without it both follow the model's context limit, which may be more than your balance. Prompt and output share the context: a prompt that leaves no room for one token is a 400.",
  `Accepted and ignored, like every field that is not listed: ${IGNORED}.`,
  "Thinking never stands in `content`. A model whose build keeps it apart returns it whole in `vendor_reasoning_content`, and it is billed as output.",
);

export const COMPLETION = paragraphs(
  "An array of prompts is joined with newlines into one prompt and gives one completion, not one per element. Token ids are refused.",
  `Accepted and ignored, like every field that is not listed: \`echo\`, \`best_of\`, \`suffix\`, ${IGNORED}.`,
);

export const EMBEDDING = paragraphs(
  "Takes an embedding model; a generation model is a 404 `model_not_found`. Each input may be as long as the model's context limit. Token ids are refused.",
  "`encoding_format` and `dimensions` are ignored: vectors are float arrays at the model's native width. Reservation and charge are for the input alone.",
);

export const MODELS =
  "Every listed model, those that are still coming included. Counts as a request against the key's limit. What the reference dialect does not have is in `vendor`.";

export const RATES = "The same catalogue as a price sheet, without a key, with the share that hosts are paid.";

export const RECEIPT_KEYS =
  "Ed25519 public keys. With them anybody can check a usage receipt, without asking the gateway about it.";

export const GENERATED = "The answer: one JSON object, or with `stream: true` server-sent events.";

const USAGE_CHUNK =
  "- with `stream_options.include_usage`, one chunk with empty `choices` and the `usage`; every chunk before it has `usage: null`";
const ENDING = paragraphs(
  `The status is 200 before a node is chosen. What fails after that is a terminal event, \`data: {"error":{"message","type","code"}}\` with a code of ${STREAMED_CODES.map((code) => `\`${code}\``).join(", ")}; no \`finish_reason\` comes before it, and no \`[DONE]\` after it.`,
  "While nothing else flows, a comment line `: keep-alive` comes every 5 seconds.",
);

export const CHAT_STREAM = paragraphs(
  "Events in this order, each a line `data:` with the JSON of one chunk and an empty line:",
  [
    "- one chunk with the delta `role` and an empty `content`",
    "- chunks with deltas of `content`",
    "- one chunk with `finish_reason` and an empty delta; for a model that thinks apart, that delta holds the whole `vendor_reasoning_content`",
    USAGE_CHUNK,
    "- `data: [DONE]`",
  ].join("\n"),
  ENDING,
);

export const COMPLETION_STREAM = paragraphs(
  "Events in this order, each a line `data:` with the JSON of one chunk and an empty line:",
  [
    "- chunks with `text`",
    "- one chunk with `finish_reason` and an empty `text`",
    USAGE_CHUNK,
    "- `data: [DONE]`",
  ].join("\n"),
  ENDING,
);
