/** The names of behaviours, for lists of what an engine cannot do. `behaviours.ts` has their functions. */
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
