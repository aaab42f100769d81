/**
 * The wire protocol's version. The major number is the first byte of every frame: a peer with another major is refused.
 * A minor number adds kinds and optional fields only; a receiver ignores kinds it does not know, so agents one minor
 * version older or newer keep working.
 *
 * 1.1: a job's header may ask for token times (`times`), and a node that knows the field answers with `timed` frames in the
 * place of `deltas`.
 *
 * 1.2: a node names the models whose engine keeps to an output format (`json_schema` of its state), and only such a node is
 * sent a job whose body holds one (`format`).
 *
 * 1.3: a node may accept a job before it has the body (`accepts_early`), may score an answer that another node gave (`scores`, the
 * body's `score`, the frame `scored`), and names the keywords of JSON Schema that its engines keep (`schema_keywords`).
 *
 * 1.4: a node says how many requests its engine would take at once, where it takes fewer (`slots_max` of its state).
 */
export const PROTOCOL_MAJOR = 1;
const PROTOCOL_MINOR = 4;
export const PROTOCOL_VERSION = `${PROTOCOL_MAJOR}.${PROTOCOL_MINOR}`;
