/**
 * Converts a prompt to the form that is sent to a worker thread: one string and two arrays. Copying a hundred thousand
 * small objects between threads would block the event loop; joining their texts does not.
 */

import { type RenderedRole, renderRole } from "./chat-templates.ts";
import type { Prompt } from "./token-meter.ts";

const ROLES: readonly RenderedRole[] = ["system", "user", "assistant", "tool"];

export interface PackedPrompt {
  kind: Prompt["kind"];
  /** The texts of all elements, joined. */
  text: string;
  lengths: Int32Array;
  /** For a chat, the role of each message as an index in ROLES. */
  roles: Uint8Array;
}

/** The approximate length of a prompt in UTF-16 units. Each element adds a constant, so that empty ones count too. */
export function estimatePromptCodeUnits(prompt: Prompt): number {
  const elementUnits = 16;
  switch (prompt.kind) {
    case "text":
      return prompt.text.length;
    case "texts":
      return prompt.texts.reduce((units, text) => units + text.length + elementUnits, 0);
    case "chat":
      return prompt.messages.reduce((units, { content }) => units + content.length + elementUnits, 0);
  }
}

export function packPrompt(prompt: Prompt): PackedPrompt {
  const texts = textsOf(prompt);
  return {
    kind: prompt.kind,
    text: texts.join(""),
    lengths: Int32Array.from(texts, (text) => text.length),
    roles: Uint8Array.from(prompt.kind === "chat" ? prompt.messages : [], ({ role }) =>
      ROLES.indexOf(renderRole(role)),
    ),
  };
}

function textsOf(prompt: Prompt): string[] {
  switch (prompt.kind) {
    case "text":
      return [prompt.text];
    case "texts":
      return prompt.texts;
    case "chat":
      return prompt.messages.map(({ content }) => content);
  }
}

export function unpackPrompt({ kind, text, lengths, roles }: PackedPrompt): Prompt {
  let end = 0;
  const texts = Array.from(lengths, (length) => {
    end += length;
    return text.slice(end - length, end);
  });
  switch (kind) {
    case "text":
      return { kind, text };
    case "texts":
      return { kind, texts };
    case "chat":
      return {
        kind,
        messages: texts.map((content, i) => ({ role: ROLES[roles[i] as number] as RenderedRole, content })),
      };
  }
}
