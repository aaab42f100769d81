/**
 * Counts the steps that code takes on strings and arrays: each character or element that one of their methods reads is
 * one step. Unlike a duration, the count is the same on every machine.
 */
type Method = (this: unknown, ...args: unknown[]) => unknown;
type Cost = (receiver: { length: number }, args: unknown[], result: unknown) => number;

const one: Cost = () => 1;
const whole: Cost = ({ length }) => length;
const ofResult: Cost = (_receiver, _args, result) => (result as { length: number }).length;
const ofArgument: Cost = (_receiver, [part]) => String(part).length;
/** The cost of a search: everything up to the match, or to the end. */
const upToFound: Cost = ({ length }, [, from], result) =>
  (Number(result) === -1 ? length : Number(result)) - Number(from ?? 0);
/** The cost of removing elements: the removed ones, and those after them, which move. */
const fromStart: Cost = ({ length }, [start], result) => length + (result as { length: number }).length - Number(start);
const ofInput: Cost = (_receiver, [input]) => String(input).length;

/** The methods with special costs. Every other method costs the length of its object. */
const COSTS: [object, Record<string, Cost>][] = [
  [
    String.prototype,
    {
      charAt: one,
      charCodeAt: one,
      codePointAt: one,
      at: one,
      slice: ofResult,
      startsWith: ofArgument,
      endsWith: ofArgument,
      indexOf: upToFound,
    },
  ],
  [Array.prototype, { at: one, push: one, pop: one, slice: ofResult, splice: fromStart }],
  [RegExp.prototype, { exec: ofInput, test: ofInput }],
  [Math, { max: one, min: one }],
];
/** Methods that are not counted: they do no work on strings or arrays, or only call counted methods. */
const LEFT_ALONE = new Set(["constructor", "toString", "valueOf", "values", "keys", "entries", "compile"]);

/** Runs `act` and returns how many steps its calls of string and array methods took. */
export function countStringAndArraySteps(act: () => void): number {
  let steps = 0;
  const originals: [object, string, PropertyDescriptor][] = [];
  for (const [owner, costs] of COSTS) {
    for (const name of Object.getOwnPropertyNames(owner)) {
      const descriptor = Object.getOwnPropertyDescriptor(owner, name);
      const isNamed = Object.hasOwn(costs, name);
      if (typeof descriptor?.value !== "function" || LEFT_ALONE.has(name)) continue;
      if ((owner === Math || owner === RegExp.prototype) && !isNamed) continue;
      originals.push([owner, name, descriptor]);
      const method = descriptor.value as Method;
      const cost = (isNamed ? costs[name] : undefined) ?? whole;
      const counted: Method = function (...args) {
        const result = Reflect.apply(method, this, args);
        steps += 1 + cost(this as { length: number }, args, result);
        return result;
      };
      Object.defineProperty(owner, name, { ...descriptor, value: counted });
    }
  }
  try {
    act();
  } finally {
    for (const [owner, name, descriptor] of originals) Object.defineProperty(owner, name, descriptor);
  }
  return steps;
}
