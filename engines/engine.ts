/** The definition of an engine for the suite: how it is installed and started, how a host chooses it, and what it cannot do. */
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

/** The tiny model's own vectors. The agent knows the tokenizer of `embed-m3`, which differs from the tiny model's. */
export const TINY_EMBEDDINGS: EmbeddingModel = { model: "embed-tiny", width: SHAPE.width };

export interface EngineUnderTest {
  /** The engine's name on the command line. */
  id: string;
  title: string;
  version: string;
  /** Returns why the engine is not available on this machine; undefined once it is installed. */
  install(): Promise<string | undefined>;
  /** Undefined for an engine inside the agent. */
  start?(model: TinyModel, port: number, log: string): Promise<Server>;
  /** Matches the name that `elect` must show for the engine. */
  known: RegExp;
  /** The arguments that a host types after `elect`. */
  elect(model: TinyModel, url: string): string[];
  /** The host's environment variables. */
  env?(url: string): Record<string, string>;
  /** How many requests at a time the node must announce. */
  slots: number;
  /** The model of the catalogue for which the engine serves embeddings, if it does. */
  embeds?: EmbeddingModel;
  /** The length of prompt that the model reads, if it is shorter than the catalogue's context. */
  contextTokens?: number;
  /** The model ends its answers by itself, which the tiny one never does. */
  endsItself?: boolean;
  /** What the engine cannot do, with the reason; the suite checks these too. */
  cannot: Partial<Record<BehaviourName, string>>;
  /** The number of tokens that the engine itself counts in a prompt. */
  promptTokens?(url: string, messages: Message[]): Promise<number>;
  /** The number of requests that the engine says it runs. Without it, the processor time is measured. */
  running?(url: string): Promise<number>;
}
