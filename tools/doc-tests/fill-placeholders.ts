/**
 * Replaces the addresses, ports and credentials in the code of a docs page with those of the running platform. Pure
 * functions.
 */

/** The placeholders in every page, which the site and the doc tests replace. */
const WRITTEN = { address: "http://127.0.0.1:8080", key: "tsk_live_your_key", token: "tht_live_your_token" };

export type PlaceholderValues = Partial<typeof WRITTEN>;

export function fillPlaceholders(text: string, values: PlaceholderValues): string {
  return Object.entries(values).reduce(
    (filled, [name, value]) => filled.replaceAll(WRITTEN[name as keyof PlaceholderValues], value),
    text,
  );
}

const PORT = /(?<=(?:127\.0\.0\.1|localhost):|PORT=|--port[ =])\d{4,5}\b/g;

/** Returns the ports on 127.0.0.1 that a text contains. */
export const findPorts = (text: string): string[] => [...new Set(text.match(PORT) ?? [])];

/** Replaces ports on 127.0.0.1 in a text. */
export const replacePorts = (text: string, ports: ReadonlyMap<string, string>): string =>
  text.replaceAll(PORT, (port) => ports.get(port) ?? port);

/** Finds the credentials in a platform's output, as a reader would copy them. */
export function findCredentials(printed: string): PlaceholderValues {
  const [key] = /\btsk_live_\w+/.exec(printed) ?? [];
  const [token] = /\btht_live_\w+/.exec(printed) ?? [];
  return { ...(key !== undefined && { key }), ...(token !== undefined && { token }) };
}
