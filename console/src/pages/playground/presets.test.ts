import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_SETTINGS } from "./playground-settings.ts";
import { type Preset, readPresets, writePresets } from "./presets.ts";

function storage(): () => Pick<Storage, "getItem" | "setItem"> {
  const kept = new Map<string, string>();
  const store = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
  };
  return () => store;
}
const preset = (id: string, system = ""): Preset => ({
  id,
  name: `preset ${id}`,
  settings: { ...DEFAULT_SETTINGS, system },
});

test("keeps each person's presets separate", () => {
  const store = storage();
  writePresets(store, "ada", [preset("1", "Be brief.")]);
  assert.deepEqual(readPresets(store, "ada"), [preset("1", "Be brief.")]);
  assert.deepEqual(readPresets(store, "eve"), []);
});

test("limits the number and size of presets", () => {
  const many = Array.from({ length: 51 }, (_, i) => preset(String(i)));
  assert.throws(() => writePresets(storage(), "ada", many), /already have 50 presets/);
  assert.throws(() => writePresets(storage(), "ada", [preset("1", "x".repeat(400_000))]), /exceed the storage limit/);
});

test("reports full or blocked browser storage", () => {
  const refusing = (name: string) => () => ({
    getItem: () => {
      throw new DOMException("no", name);
    },
    setItem: () => {
      throw new DOMException("no", name);
    },
  });
  assert.throws(() => writePresets(refusing("QuotaExceededError"), "ada", []), /The preset was not saved: .* full/);
  assert.throws(() => writePresets(refusing("SecurityError"), "ada", []), /blocks its storage/);
  assert.throws(() => readPresets(refusing("SecurityError"), "ada"), /blocks its storage/);
});

test("ignores invalid stored data", () => {
  for (const text of ["{", "{}", '[null, 1, {"id": 1}]']) {
    const store = storage();
    store().setItem("tollgate.presets.ada", text);
    assert.deepEqual(readPresets(store, "ada"), []);
  }
});
