/**
 * How many connections the system keeps for a listener whose event loop is busy. The system's own maximum (on Linux
 * `net.core.somaxconn`, usually 4,096) applies too. With Node's default of 511 the system drops or resets the
 * connections of a larger burst, and clients that it drops wait up to 16 s before they try again.
 */
export const CONNECTION_QUEUE_MAX = 4_096;
