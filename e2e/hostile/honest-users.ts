/**
 * Honest users of the platform while someone attacks it: the official client, with the retries that it makes by itself and no
 * others. The attack goes on until they were served, so that "beside the attack" depends on no clock. How much longer they wait
 * is measured by `npm run bench -- hostile`.
 */

import assert from "node:assert/strict";
import type { Stage } from "@tollgate/stage/stage.ts";
import { unlessHung } from "@tollgate/stage/wait.ts";
import OpenAI from "openai";

/** Served beside every attack. */
const SERVED_MIN = 24;
const AT_ONCE = 4;
const ANSWER = "calm words";

/** One round of an attack, or all rounds until `isOver` returns true. */
export type Attack = (isOver: () => boolean) => Promise<unknown>;

interface Traits {
  key: string;
  /** Served by a node with the scripted engine. */
  model: string;
  /** The plane may be lost for a moment, and the platform then refuses with "ask again" for longer than the client asks. */
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

  /** Attacks round after round until honest users were served beside it; returns how many rounds that took. */
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
    // Until the attack is over too: all of it has honest users beside it.
    const using = async (): Promise<void> => {
      while (!failed && (served < SERVED_MIN || rounds === 0)) if (await this.#use()) served += 1;
    };
    const all = [attacking(), ...Array.from({ length: AT_ONCE }, using)].map((part) =>
      part.catch((error) => {
        failed = true;
        throw error;
      }),
    );
    await unlessHung("honest users are served beside the attack", Promise.all(all));
    return rounds;
  }

  /** A request, streamed and whole in turn; false where it was refused and may be. */
  async #use(): Promise<boolean> {
    const { model, mayBeRefused = false } = this.#traits;
    const content = `#script ${JSON.stringify({ text: ANSWER })}`;
    const order = { model, max_tokens: 20, messages: [{ role: "user" as const, content }] };
    try {
      // A stream has answered 200 before it can be refused: where that may happen no client would ask again.
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

/** Nothing was billed, and the client is asked to retry. */
const isRefusal = ({ status, code, headers }: InstanceType<typeof OpenAI.APIError>): boolean =>
  status === 503 && code === "no_capacity" && headers?.get("x-should-retry") === "true";
