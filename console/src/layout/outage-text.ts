/** Describes an outage of the gateway or its dependencies in a sentence. Pure. */
import type { Health } from "../api/answer-types.ts";
import { formatClockTime } from "../locale.ts";

type Unreachable = Health["unreachable"][number];

const PART_WORDS: Record<Unreachable["part"], string> = {
  database: "database",
  limits: "limits server",
  plane: "dispatch plane",
};

export function describeOutage({
  unreachable,
  dataAt,
}: {
  unreachable: Unreachable[];
  dataAt: number | undefined;
}): string {
  const parts = unreachable.filter(({ needed }) => needed);
  const why =
    parts.length === 0
      ? "The platform is slow to answer"
      : parts
          .map(
            ({ part, since }) =>
              `The platform's ${PART_WORDS[part]} is unreachable since ${formatClockTime(since * 1000)}`,
          )
          .join(". ");
  return dataAt === undefined ? why : `${why}. Showing data from ${formatClockTime(dataAt)}`;
}
