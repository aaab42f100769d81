"""Drives a Python client over standard input: one JSON request a line, one JSON answer a line."""

import json
import sys

import openai
from pydantic import Field, create_model


def read_error(error):
    """Also what LangChain and LlamaIndex raise: they hand on the errors of the official package."""
    body, status, code = (getattr(error, name, None) for name in ("body", "status_code", "code"))
    return {
        "raised": type(error).__name__,
        "status": status,
        # LiteLLM has the status there, where it has anything.
        "code": None if code == str(status) else code,
        "message": str(error),
        "required": body.get("required_micro") if isinstance(body, dict) else None,
    }


def class_of(schema):
    """The form that structured output is asked for, as the class that packages for Python want."""
    fields = {name: (int, Field(ge=rule["minimum"])) for name, rule in schema["properties"].items()}
    return create_model(schema["title"], **fields)


def serve(operations, errors=openai.APIError, read=read_error):
    """Each operation takes the connection, the request and where pieces of text go. It returns a value or raises one of `errors`."""
    by_name = {operation.__name__: operation for operation in operations}
    print(json.dumps({"operations": list(by_name)}), flush=True)
    for line in sys.stdin:
        request, pieces = json.loads(line), []
        try:
            value = by_name[request["operation"]](request["at"], request.get("ask"), pieces.append)
            answer = {"value": value}
        except errors as error:
            answer = read(error)
        print(json.dumps({**answer, "pieces": pieces}), flush=True)
