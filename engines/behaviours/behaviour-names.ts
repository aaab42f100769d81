/** The names of the behaviors, in which an engine lists what it does not support. `behaviours.ts` has the functions. */
export type BehaviourName =
  | "chat"
  | "stream"
  | "completion"
  | "embeddings"
  | "stop"
  | "seed"
  | "cap"
  | "long prompt"
  | "context end"
  | "json_object"
  | "json_schema"
  | "parallel"
  | "cancel"
  | "restart";
