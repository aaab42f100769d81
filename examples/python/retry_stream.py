"""A stream that is begun again as long as that is safe.

A stream is 200 before a node is chosen, so "no capacity" comes as an event inside it, which no SDK repeats by itself. Only
while no text has come, only what is free, and not for ever.
"""

import random
import time

import openai


def stream_with_retry(client, *, attempts_max=4, wait_s=0.5, wait_s_max=20.0, thinks=False, on_retry=None, **body):
    """Yields the chunks of one answer. Raises what the SDK raises once trying again is over, or would not be safe.

    thinks: of a model that thinks before it answers, a stall may have been billed though no text came: it is not repeated.
    on_retry: is told the error and the wait in seconds.
    """
    attempt = 1
    while True:
        held, begun = [], False
        try:
            # The SDK's own retries are off: all of them are counted here.
            with client.with_options(max_retries=0).chat.completions.create(**body, stream=True) as stream:
                for chunk in stream:
                    # Until text comes, chunks are kept back: of a stream that is begun again nothing may be seen.
                    begun = begun or any(choice.delta.content or choice.finish_reason for choice in chunk.choices)
                    held.append(chunk)
                    if begun:
                        yield from held
                        held.clear()
            yield from held
            return
        except openai.APIError as error:
            if begun or attempt >= attempts_max or not _is_free(error, thinks):
                raise
            pause_s = _pause_after(error, min(wait_s * 2 ** min(attempt - 1, 30), wait_s_max))
            if on_retry:
                on_retry(error, pause_s)
        time.sleep(pause_s)
        attempt += 1


def _is_free(error, thinks):
    """Whether nothing was billed for it and another try may help."""
    if isinstance(error, openai.APIConnectionError):
        return True  # no answer at all
    if _header(error, "x-should-retry") == "false":
        return False
    code = error.code or ""
    if code == "upstream_stall":
        return not thinks
    return code == "no_capacity" or code.startswith("rate_limit_")


def _pause_after(error, backoff_s):
    """What the gateway says, and up to the given time more, so that many clients do not come back at once."""
    return float(_header(error, "retry-after") or 0) + backoff_s * random.uniform(0.5, 1)


def _header(error, name):
    response = getattr(error, "response", None)  # an event inside a stream has none
    return response.headers.get(name) if response is not None else None
