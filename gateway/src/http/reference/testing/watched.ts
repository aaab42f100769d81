/** For tests: a browser whose every answer is held against the console's document. */
import assert from "node:assert/strict";
import type { FastifyInstance } from "fastify";
import { type Answer, Browser } from "../../testing/browser.ts";
import type { Witness } from "./witness.ts";

type Send = Browser["send"];

export class WatchedBrowser extends Browser {
  readonly #witness: Witness;

  constructor(witness: Witness, { app }: { app: FastifyInstance }, address?: string) {
    super({ app }, address);
    this.#witness = witness;
  }

  override async send(...[method, url, more]: Parameters<Send>): Promise<Answer> {
    const answer = await super.send(method, url, more);
    this.#witness.take(method, url, answer);
    return answer;
  }

  /** The body of an answer that has this status. */
  async ask(status: number, ...call: Parameters<Send>): Promise<Answer["body"]> {
    const answer = await this.send(...call);
    assert.equal(answer.status, status, answer.text);
    return answer.body;
  }
}
