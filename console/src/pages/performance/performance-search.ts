/** The page's filters in the URL's query parameters. */
export interface PerformanceSearch {
  by?: "key";
  model?: string;
  key?: string;
}

export function readPerformanceSearch({ by, model, key }: Record<string, unknown>): PerformanceSearch {
  return {
    ...(by === "key" && { by }),
    ...(typeof model === "string" && model !== "" && { model }),
    ...(typeof key === "string" && key !== "" && { key }),
  };
}
