/**
 * Honest users of the platform during an attack: they use the official client with its default retries. The attack
 * continues until they were served, so the test depends on no clock. `npm run bench -- hostile` measures how much
 * longer they wait.
 */

import assert from "node:assert/strict";
import type { Stage } from "@tollgate/stage/stage.ts";
import { failIfHung } from "@tollgate/stage/wait.ts";
import OpenAI from "openai";

/** The number of honest requests that must be served during every attack. */
const SERVED_MIN = 24;
const AT_ONCE = 4;
const ANSWER = "calm words";

/** Runs one round of an attack. A round may continue until `isOver` returns true. */
export type Attack = (isOver: () => boolean) => Promise<unknown>;

interface Traits {
  key: string;
  /** A model that only nodes with the scripted engine serve. */
  model: string;
  /** Allows 503s: the gateway may lose the plane for longer than the client retries. */
  mayBeRefused?: boolean;
}

export class HonestUsers {
  readonly #client: OpenAI;
  readonly #traits: Traits;
  #asked = 0;

  constructor(stage: Pick<Stage, "baseUrl">, traits: Traits) {
    this.#client = new OpenAI({ apiKey: traits.key, baseURL: `${stage.baseUrl}/v1` });
    this.#traits = traits;
  }

  /** Repeats the attack until enough honest requests were served. Returns the number of rounds. */
  async servedDuring(attack: Attack): Promise<number> {
    let [rounds, served] = [0, 0];
    let failed = false;
    const isOver = (): boolean => failed || served >= SERVED_MIN;
    const attacking = async (): Promise<void> => {
      do {
        await attack(isOver);
        rounds += 1;
      } while (!isOver());
    };
    // Honest users send requests until the attack is over, so that they cover all of it.
    const using = async (): Promise<void> => {
      while (!failed && (served < SERVED_MIN || rounds === 0)) if (await this.#use()) served += 1;
    };
    const all = [attacking(), ...Array.from({ length: AT_ONCE }, using)].map((part) =>
      part.catch((error) => {
        failed = true;
        throw error;
      }),
    );
    await failIfHung("honest users are served beside the attack", Promise.all(all));
    return rounds;
  }

  /** Sends a request, alternately streamed and plain. Returns false if it was refused and `mayBeRefused` is set. */
  async #use(): Promise<boolean> {
    const { model, mayBeRefused = false } = this.#traits;
    const content = `#script ${JSON.stringify({ text: ANSWER })}`;
    const order = { model, max_tokens: 20, messages: [{ role: "user" as const, content }] };
    try {
      // If refusals are allowed, no request is streamed, because clients do not retry a stream that fails after its
      // status 200.
      const text = this.#asked++ % 2 === 0 && !mayBeRefused ? await this.#streamed(order) : await this.#whole(order);
      assert.equal(text, ANSWER);
      return true;
    } catch (error) {
      if (mayBeRefused && error instanceof OpenAI.APIError && isRefusal(error)) return false;
      throw error;
    }
  }

  async #whole(order: OpenAI.ChatCompletionCreateParamsNonStreaming): Promise<string> {
    const { choices } = await this.#client.chat.completions.create(order);
    return choices[0]?.message.content ?? "";
  }

  async #streamed(order: OpenAI.ChatCompletionCreateParamsNonStreaming): Promise<string> {
    const chunks = await Array.fromAsync(await this.#client.chat.completions.create({ ...order, stream: true }));
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, "stop", "the stream came to its own end");
    return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
  }
}

/** Returns true for a 503 that bills nothing and asks the client to retry. */
const isRefusal = ({ status, code, headers }: InstanceType<typeof OpenAI.APIError>): boolean =>
  status === 503 && code === "no_capacity" && headers?.get("x-should-retry") === "true";
