// The image's HEALTHCHECK: whether the gateway is alive. (Whether it takes requests is `/readyz`, for balancers.)
const port = process.env.INTERNAL_PORT || "9090";
const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(4_000) });
process.exit(answer.ok ? 0 : 1);
