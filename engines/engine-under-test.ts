/**
 * Defines an engine for the suite: how it is installed and started, how a host selects it with `elect`, and what it
 * does not support.
 */
import type { BehaviourName } from "./behaviours/behaviour-names.ts";
import type { TinyModel } from "./model/model.ts";
import { MODEL_SHAPE } from "./model/weights.ts";
import type { Server } from "./servers/start-server.ts";

export interface ChatMessage {
  role: string;
  content: string;
}

export interface EmbeddingModel {
  model: string;
  width: number;
}

/**
 * The catalogue entry for embeddings of the tiny model. Embeddings cannot use `embed-m3`, because the agent uses the
 * tokenizer of the real model for it.
 */
export const TINY_EMBEDDINGS: EmbeddingModel = { model: "embed-tiny", width: MODEL_SHAPE.width };

export interface EngineUnderTest {
  /** The engine's name for the flags of `npm run engines`. */
  id: string;
  title: string;
  version: string;
  /** Installs the engine. Returns why that is not possible on this machine; undefined if it is installed. */
  install(): Promise<string | undefined>;
  /** Starts the engine's server; undefined for an engine inside the agent. */
  start?(model: TinyModel, port: number, log: string): Promise<Server>;
  /** Matches the engine's name in the output of `elect`. */
  known: RegExp;
  /** Returns the arguments that a host types after `tollgate-host elect`. */
  elect(model: TinyModel, url: string): string[];
  /** Returns the environment variables of the host's commands. */
  env?(url: string): Record<string, string>;
  /** The number of concurrent requests that the node must announce. */
  slots: number;
  /** The model of the catalogue for which the engine serves embeddings, if it serves any. */
  embeds?: EmbeddingModel;
  /** The maximum prompt length that the model reads, if it is shorter than the catalogue's context. */
  contextTokens?: number;
  /** The model can end its answers by itself. The tiny model never does. */
  endsItself?: boolean;
  /**
   * The behaviors that the engine does not support, with the reasons. The suite checks that they are really
   * unsupported.
   */
  cannot: Partial<Record<BehaviourName, string>>;
  /** Returns the number of tokens that the engine itself counts in a prompt. */
  promptTokens?(url: string, messages: ChatMessage[]): Promise<number>;
  /**
   * Returns the number of requests that the engine reports as running. If undefined, its processor time is measured.
   */
  running?(url: string): Promise<number>;
}
