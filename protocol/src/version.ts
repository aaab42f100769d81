/**
 * The wire protocol's version. The major number is the first byte of every frame; frames of another major version are
 * refused. A minor version only adds kinds of frames and optional fields. Receivers ignore kinds that they do not
 * know, so agents one minor version older or newer keep working.
 *
 * 1.1: gateways may ask for token times in a job's header (`times`). Nodes that know this field send `timed` frames
 * instead of `deltas`.
 *
 * 1.2: nodes announce the models whose engine enforces output formats (`json_schema` of the state). Jobs with an output
 * format (`format`) are only sent to those nodes.
 *
 * 1.3: nodes may accept a job before its body has arrived (`accepts_early`), and may score another node's answer
 * (`scores`, the body's `score`, the frame `scored`). They announce the JSON Schema keywords that their engines enforce
 * (`schema_keywords`).
 *
 * 1.4: nodes that offer fewer slots than their engine accepts requests announce the engine's number (`slots_max` of the
 * state).
 */
export const PROTOCOL_MAJOR = 1;
const PROTOCOL_MINOR = 4;
export const PROTOCOL_VERSION = `${PROTOCOL_MAJOR}.${PROTOCOL_MINOR}`;
