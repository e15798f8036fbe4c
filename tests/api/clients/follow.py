"""Follows a run, answers what its agent asks, sends a message and stops it, through a client generated from openapi.json."""

import json
import os
from collections.abc import Iterator

from ralph_client import AuthenticatedClient
from ralph_client.api.default import get_asks, get_run, post_asks_n, post_commands
from ralph_client.models import (
    AnswerAllow,
    AnswerDeny,
    AskVerdictAllowed,
    Done,
    EventAnswered,
    EventAsked,
    OpenAskWaits,
    Record,
    Refusal,
    RunView,
    Status,
    UserCommandSteer,
    UserCommandStop,
)

client = AuthenticatedClient(base_url=os.environ["RALPH"], token=os.environ["TOKEN"])


def records() -> Iterator[Record | int | None]:
    """Every record of the run, and at last its exit code."""
    with client.get_httpx_client().stream("GET", "/events", params={"from": 0}, timeout=60) as stream:
        fields: dict[str, str] = {}
        for line in stream.iter_lines():
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")
                continue
            if fields.get("event") == "over":
                yield json.loads(fields["data"])["exitCode"]
                return
            if "id" in fields:
                yield Record.from_dict(json.loads(fields["data"]))
            fields = {}
    raise ConnectionError("the stream was cut off")


def done(result: Done | Refusal | None) -> str:
    if not isinstance(result, Done):
        raise ValueError(result)
    return result.text


def answer_all() -> None:
    asks = get_asks.sync(client=client)
    assert isinstance(asks, list)
    for ask in asks:
        if not isinstance(ask, OpenAskWaits):
            continue
        git = ask.request.title.startswith("git ")
        answer = AnswerAllow(type_="allow") if git else AnswerDeny(type_="deny", message="Only git, please.")
        print(done(post_asks_n.sync(ask.number, client=client, body=answer)))


for record in records():
    if not isinstance(record, Record):
        print(f"exit code {record}")
    elif isinstance(record.event, EventAsked):
        answer_all()
    elif isinstance(event := record.event, EventAnswered) and isinstance(event.answered.verdict, AskVerdictAllowed):
        assert event.answered.ask is not None
        second = post_asks_n.sync(event.answered.ask, client=client, body=AnswerAllow(type_="allow"))
        assert isinstance(second, Refusal)
        print(f"refused: {second.detail}")
        steer = UserCommandSteer(type_="steer", kind="next", text="Mind the tests.")
        print(done(post_commands.sync(client=client, body=steer)))
        stop = UserCommandStop(type_="stop", stop="after-iteration")
        print(done(post_commands.sync(client=client, body=stop)))
        run = get_run.sync(client=client)
        assert isinstance(run, Status) and isinstance(run.view, RunView)
        print(f"{len(run.view.plan.tasks)} tasks, {run.phase}")
