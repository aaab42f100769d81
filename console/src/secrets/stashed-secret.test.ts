import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { clearStashedSecret, stashedSecret, stashSecret } from "./stashed-secret.ts";

/** The listeners that the code adds to the window, for the warning before it closes. */
const warned = new Set<unknown>();
Object.assign(globalThis, {
  addEventListener: (_name: string, listener: unknown) => void warned.add(listener),
  removeEventListener: (_name: string, listener: unknown) => void warned.delete(listener),
});

afterEach(() => {
  for (const name of ["a key", "b key", "a token"]) clearStashedSecret(name);
});

test("keeps the new secrets of each account while the user visits other pages", () => {
  stashSecret("a key", "tsk_live_1");
  stashSecret("a token", "tht_live_1");
  assert.deepEqual(["a key", "a token", "b key"].map(stashedSecret), ["tsk_live_1", "tht_live_1", undefined]);
});

test("asks for confirmation before the window closes as long as a new secret is held in memory", () => {
  assert.equal(warned.size, 0);
  stashSecret("a key", "tsk_live_1");
  stashSecret("b key", "tsk_live_2");
  assert.equal(warned.size, 1);
  clearStashedSecret("a key");
  assert.equal(warned.size, 1);
  clearStashedSecret("b key");
  assert.equal(warned.size, 0);
});
