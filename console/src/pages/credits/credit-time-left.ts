/** Describes in words when the credit will run out. */
const [HOUR_S, DAY_S] = [3_600, 86_400];

/** `lastsS`: the API's estimate in seconds; null without recent spending. */
export function describeCreditTimeLeft(lastsS: number | null): string {
  if (lastsS === null) return "Nothing spent yet";
  if (lastsS === 0) return "Used up";
  if (lastsS > 365 * DAY_S) return "More than a year";
  if (lastsS >= 2 * DAY_S) return `About ${Math.floor(lastsS / DAY_S)} days`;
  if (lastsS >= 2 * HOUR_S) return `About ${Math.floor(lastsS / HOUR_S)} hours`;
  return "Less than two hours";
}
