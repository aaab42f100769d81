/** The keyboard controls of a chart. Pure. */
type KeyAction = { move: number } | { zoom: "in" | "out" | "reset" };

/** Returns the action for a key. `at`: the index of the current row; `last`: that of the last row. */
export function findKeyAction(key: string, at: number, last: number): KeyAction | undefined {
  const to = (place: number): KeyAction => ({ move: Math.min(Math.max(0, place), last) });
  switch (key) {
    case "ArrowLeft":
      return to(at - 1);
    case "ArrowRight":
      return to(at + 1);
    case "PageUp":
      return to(at - 10);
    case "PageDown":
      return to(at + 10);
    case "Home":
      return to(0);
    case "End":
      return to(last);
    case "+":
    case "=":
      return { zoom: "in" };
    case "-":
      return { zoom: "out" };
    case "0":
      return { zoom: "reset" };
    default:
      return undefined;
  }
}
