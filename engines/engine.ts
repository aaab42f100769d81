/** What the suite has to know of an engine: how it is had and started, how a host chooses it, and what it cannot do. */
import type { BehaviourName } from "./behaviours/names.ts";
import type { TinyModel } from "./model/model.ts";
import { SHAPE } from "./model/weights.ts";
import type { Server } from "./servers/server.ts";

export interface Message {
  role: string;
  content: string;
}

export interface EmbeddingModel {
  model: string;
  width: number;
}

/** The tiny model's own vectors. The agent knows which tokenizer `embed-m3` has, and this is another one. */
export const TINY_EMBEDDINGS: EmbeddingModel = { model: "embed-tiny", width: SHAPE.width };

export interface EngineUnderTest {
  /** For the command line. */
  id: string;
  title: string;
  version: string;
  /** Why it cannot be had on this machine; undefined once it is installed. */
  install(): Promise<string | undefined>;
  /** Undefined for an engine inside the agent. */
  start?(model: TinyModel, port: number, log: string): Promise<Server>;
  /** The engine as `elect` must call it. */
  known: RegExp;
  /** What a host types after `elect`. */
  elect(model: TinyModel, url: string): string[];
  /** What a host has in the environment. */
  env?(url: string): Record<string, string>;
  /** How many requests the node must announce that it runs at once. */
  slots: number;
  /** The model of the catalogue that it serves embeddings of, if it does. */
  embeds?: EmbeddingModel;
  /** How much of a prompt its model reads, where that is less than the catalogue's context. */
  contextTokens?: number;
  /** Its model ends its answers by itself, as the tiny one never does. */
  endsItself?: boolean;
  /** What it cannot do, and why: the suite holds it to that. */
  cannot: Partial<Record<BehaviourName, string>>;
  /** How many tokens the engine itself counts in a prompt. */
  promptTokens?(url: string, messages: Message[]): Promise<number>;
  /** How many requests it runs, as it tells itself. Without it, what it uses of the processors tells. */
  running?(url: string): Promise<number>;
}
