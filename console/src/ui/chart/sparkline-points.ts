/** The points of a sparkline, with zero at the bottom and the largest value at the top. Pure. */
export function sparklinePoints(values: number[], width: number, height: number): string {
  const most = Math.max(0, ...values);
  // A single value becomes a horizontal line.
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
