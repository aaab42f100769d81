"""Runs retry_stream.py of the examples for retry.test.ts: a list of cases as JSON in, what came of each as JSON out."""

import json
import sys

import openai
from retry_stream import stream_with_retry


def came_of(case):
    text, roles, retries, raised = "", 0, [], None
    client = openai.OpenAI(**({"api_key": case["apiKey"]} if "apiKey" in case else {}))
    try:
        for chunk in stream_with_retry(
            client,
            model=case["model"],
            messages=[{"role": "user", "content": case["prompt"]}],
            attempts_max=case["attemptsMax"],
            wait_s=0.01,
            wait_s_max=0.1,
            thinks=case.get("thinks", False),
            on_retry=lambda error, wait_s: retries.append([error.code, wait_s >= 1]),
        ):
            for choice in chunk.choices:
                roles += choice.delta.role is not None
                text += choice.delta.content or ""
    except openai.APIError as error:
        raised = error.code
    return {"text": text, "roles": roles, "retries": retries, "raised": raised}


print(json.dumps([came_of(case) for case in json.loads(sys.argv[1])]))
