/** The points of a small line, from zero at the bottom to its largest value at the top. Pure. */
export function lineOf(values: number[], width: number, height: number): string {
  const most = Math.max(0, ...values);
  // A single value is a level line.
  const points = values.length === 1 ? [...values, ...values] : values;
  return points
    .map((value, i) => {
      const x = (i / Math.max(1, points.length - 1)) * width;
      const y = most === 0 ? height : height - (Math.max(0, value) / most) * height;
      return `${round(x)},${round(y)}`;
    })
    .join(" ");
}

const round = (value: number): number => Math.round(value * 100) / 100;
