/**
 * Presets: named playground settings, stored in this browser per person, with limits. Reports when the browser refuses
 * to store them.
 */
import { type PlaygroundSettings, readSettings } from "./playground-settings.ts";

export interface Preset {
  id: string;
  name: string;
  settings: PlaygroundSettings;
}

export const PRESET_NAME_CHARS_MAX = 80;
const PRESETS_MAX = 50;
const CHARS_MAX = 400_000;

type Store = Pick<Storage, "getItem" | "setItem">;
const storedAs = (person: string): string => `tollgate.presets.${person}`;

/** Throws an error with a message if the browser blocks its storage. */
export function readPresets(store: () => Store, person: string): Preset[] {
  let text: string | null;
  try {
    text = store().getItem(storedAs(person));
  } catch {
    throw new Error("This browser blocks its storage, so presets cannot be read or saved.");
  }
  return parsePresets(text);
}

/**
 * Throws an error with a message, and changes nothing, if presets are too many or too large or if the browser refuses.
 */
export function writePresets(store: () => Store, person: string, presets: Preset[]): void {
  if (presets.length > PRESETS_MAX)
    throw new Error(`Limit reached: you already have ${PRESETS_MAX} presets. Delete one first.`);
  const text = JSON.stringify(presets);
  if (text.length > CHARS_MAX) throw new Error("Your presets exceed the storage limit. Shorten or delete one first.");
  try {
    store().setItem(storedAs(person), text);
  } catch (error) {
    const isFull = error instanceof Error && error.name === "QuotaExceededError";
    throw new Error(
      isFull
        ? "The preset was not saved: this browser's storage is full."
        : "This browser blocks its storage: the preset was not saved.",
    );
  }
}

function parsePresets(text: string | null): Preset[] {
  let kept: unknown;
  try {
    kept = JSON.parse(text ?? "[]");
  } catch {
    // The stored text is not valid JSON, so there are no presets.
    return [];
  }
  if (!Array.isArray(kept)) return [];
  return kept.slice(0, PRESETS_MAX).flatMap((one: Partial<Preset> | null) => {
    if (typeof one?.id !== "string" || typeof one.name !== "string") return [];
    return [{ id: one.id, name: one.name.slice(0, PRESET_NAME_CHARS_MAX), settings: readSettings(one.settings) }];
  });
}
