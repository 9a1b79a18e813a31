"""The verbs: what they write, what they refuse, and what they say about it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ackd.cli.envelope_options import FLAGS, JSON, TEXTS
from ackd.protocol.envelope import TYPES
from ackd.schema import load_schema

ZOE = ("--from", "zoe")
MACRO = ("--from", "macro")
TRADING = ("--from", "trading")


def dropped(ackd: Any, said: dict[str, Any]) -> dict[str, Any]:
    """Read the file that a verb laid down."""
    document: dict[str, Any] = json.loads((ackd.tree.path / said["path"]).read_bytes())
    return document


def test_every_key_of_an_envelope_is_an_option() -> None:
    """The schema has no key that the command line could not write, but those that others fill in."""
    keys = {name.replace("-", "_") for name in (*TEXTS, *JSON, *FLAGS)} | {"to", "attachments"}
    made = {"state", "type", "from", "via", "$schema"}
    assert set(load_schema("envelope")["properties"]) - made <= keys


def test_request_prints_the_ack_id_alone(ackd: Any) -> None:
    """A script takes the ack_id from stdout; all else is a message."""
    done = ackd("request", "macro", "--action", "Next week's plan: A股 策略", *ZOE)
    assert done.exit_code == 0
    assert re.fullmatch(r"next-week-s-plan-a股-策略-v1-[0-9]{12}-[0-9a-f]{4}\n", done.stdout)
    assert "waits for: ackd up" in done.stderr


def test_request_writes_what_it_was_told(ackd: Any) -> None:
    """Every option becomes the key of its name; message_id is written."""
    ackd.ok("agents", "add", "风控")
    said = ackd.data(
        *("request", "macro,trading", "--to", "风控", "--dri", "trading", "--action", "看一下", "--deadline", "2h"),
        *("--ack-id", "plan-v1", "--data", '{"limit": 40}', "--priority", "high", "--context", "quarter end", *ZOE),
    )
    document = dropped(ackd, said)
    assert document.pop("message_id") == said["message_id"]
    assert document == {
        "state": "request",
        "ack_id": "plan-v1",
        "from": "zoe",
        "to": ["macro", "trading", "风控"],
        "dri": "trading",
        "action": "看一下",
        "deadline": "2h",
        "data": {"limit": 40},
        "priority": "high",
        "context": "quarter end",
    }
    assert said["verdict"] is None


def test_the_sender_comes_from_the_environment(ackd: Any) -> None:
    """ACKD_AGENT says who speaks; without it the command says what is missing."""
    done = ackd("request", "macro", "--action", "x", env={"ACKD_AGENT": "Zoe"})
    assert done.exit_code == 0
    code, error = ackd.error("request", "macro", "--action", "x")
    assert (code, error["code"]) == (2, "usage")
    assert "ACKD_AGENT" in error["hint"]


def test_a_sender_who_is_not_on_the_roster_is_told_how_to_get_there(ackd: Any) -> None:
    """The hint is the command that adds it, and nothing is dropped."""
    code, error = ackd.error("request", "macro", "--action", "x", "--from", "lotte")
    assert code == 1
    assert error["hint"] == "ackd agents add lotte"
    assert list((ackd.tree.path / "roundtable").glob("*/*")) == []


def test_a_deadline_that_nobody_can_read_is_said_before_dropping(ackd: Any) -> None:
    """It exits 2 with forms that are read, and nothing is dropped."""
    code, error = ackd.error("request", "macro", "--action", "x", "--deadline", "soonish", *ZOE)
    assert (code, error["code"]) == (2, "usage")
    assert "2h" in error["hint"]
    assert list((ackd.tree.path / "roundtable").glob("*/*")) == []


@pytest.mark.parametrize(
    "words",
    [
        ("request", "macro", *ZOE),
        ("request", "--action", "x", *ZOE),
        ("final", "week-v1", *TRADING),
        ("decline", "week-v1", *MACRO),
        ("handoff", "week-v1", "trading", *MACRO),
        ("ruling", "week-v1", *ZOE),
        ("ruling", "week-v1", "dri", *ZOE),
        ("broadcast", "all", *ZOE),
    ],
)
def test_what_is_missing_is_named_with_an_example(ackd: Any, words: tuple[str, ...]) -> None:
    """A verb without what it needs exits 2 and shows how it is meant."""
    code, error = ackd.error(*words)
    assert (code, error["code"]) == (2, "usage")
    assert f"ackd {words[0]}" in error["hint"]


def test_replies_say_what_they_speak_to(ackd: Any) -> None:
    """`in_reply_to` is filled in: the request for a confirmed, the question for an answer, the handoff for a yes."""
    request = json.loads(ackd.ok("request", "macro", "trading", "--action", "Plan", "--json", *ZOE))["data"]
    ack_id = request["ack_id"]
    ackd.once()
    assert dropped(ackd, ackd.data("confirm", ack_id, *MACRO))["in_reply_to"] == request["message_id"]
    question = ackd.data("clarify", ack_id, "Which week?", *TRADING)
    ackd.once()
    answer = dropped(ackd, ackd.data("answer", ack_id, "The next", *ZOE))
    assert answer["in_reply_to"] == question["message_id"]
    handoff = ackd.data("handoff", ack_id, "macro", "A rates question", *TRADING)
    ackd.once()
    assert dropped(ackd, ackd.data("confirm", ack_id, *MACRO))["in_reply_to"] == handoff["message_id"]


def test_the_bare_text_is_the_one_that_is_needed(ackd: Any) -> None:
    """Each verb puts its bare text under its own key, and refuses it when the option stands there too."""
    ack_id = ackd.ask()
    ackd.once()
    for verb, key in (("confirm", "conclusion"), ("clarify", "question"), ("decline", "reason"), ("progress", "body")):
        said = ackd.data(verb, ack_id, "要先知道日期", *MACRO)
        document = dropped(ackd, said)
        assert document[key] == "要先知道日期"
        assert said["type"] in TYPES
        assert ackd.error(verb, ack_id, "a", f"--{key}", "b", *MACRO)[0] == 2


def test_a_text_comes_from_stdin(ackd: Any) -> None:
    """`-` reads it, once."""
    ack_id = ackd.ask()
    ackd.once()
    ackd.ok("confirm", ack_id, "on it", *TRADING)
    ackd.once()
    done = ackd("final", ack_id, "-", "--json", *TRADING, stdin="减仓至 40 %\n")
    assert dropped(ackd, json.loads(done.stdout)["data"])["conclusion"] == "减仓至 40 %"
    assert ackd("final", ack_id, "-", "--body", "-", *TRADING, stdin="x").exit_code == 2


def test_the_start_of_an_ack_id_is_enough(ackd: Any) -> None:
    """A unique start is taken, and said; one of several threads is refused."""
    ackd.ask("--ack-id", "oil-week-v1")
    ackd.ok("request", "macro", "--action", "Other", "--ack-id", "oil-month-v1", *ZOE)
    ackd.once()
    done = ackd("confirm", "oil-w", "ok then", *MACRO)
    assert done.exit_code == 0
    assert "oil-week-v1" in done.stderr
    assert (ackd.tree.path / "roundtable/oil-week-v1/confirmed-macro.json").is_file()
    assert ackd.error("confirm", "oil", "ok then", *MACRO)[0] == 1


def test_what_the_thread_does_not_allow_exits_4(ackd: Any) -> None:
    """The reason is the daemon's own, the hint what to do instead; --anyway drops it all the same."""
    ack_id = ackd.ask()
    ackd.once()
    code, error = ackd.error("final", ack_id, "I decide", *MACRO)
    assert (code, error["code"]) == (4, "not-allowed")
    assert "trading is the DRI" in error["message"]
    assert "ackd supplement" in error["hint"]
    assert not (ackd.tree.path / f"roundtable/{ack_id}/final-macro.json").exists()
    assert ackd("final", ack_id, "I decide", "--anyway", *MACRO).exit_code == 0
    ackd.once()
    assert ackd.data("log", "--file", f"roundtable/{ack_id}/final-macro.json")["verdict"] == "weak"


def test_after_the_end_new_work_needs_a_new_id(closed: tuple[Any, str]) -> None:
    """What comes after the final is refused with the way to ask anew; the final itself can be amended."""
    ackd, ack_id = closed
    code, error = ackd.error("clarify", ack_id, "why so much?", *MACRO)
    assert code == 4
    assert "ackd request" in error["hint"]
    said = ackd.data("amend", ack_id, "Cut 35 %", *TRADING)
    document = dropped(ackd, said)
    assert document["conclusion"] == "Cut 35 %"
    ackd.once()
    thread = ackd.data("show", ack_id)
    assert thread["final"]["conclusion"] == "Cut 35 %"
    assert document["supersedes"] in {one["message_id"] for one in thread["messages"]}


def test_nothing_is_written_over(ackd: Any) -> None:
    """A second message of a kind gets a file of its own."""
    ack_id = ackd.ask()
    paths = [ackd.data("progress", ack_id, f"step {number}", *MACRO)["path"] for number in range(3)]
    assert len(set(paths)) == 3
    assert all((ackd.tree.path / path).is_file() for path in paths)


def test_an_id_of_another_requester_becomes_a_thread_of_its_own(ackd: Any) -> None:
    """The ack_id that is printed is the one under which the thread will be found."""
    ackd.ask("--ack-id", "week-v1")
    ackd.once()
    printed = ackd.ok("request", "zoe", "--action", "Another", "--ack-id", "week-v1", *MACRO).strip()
    assert re.fullmatch(r"week-v1~[0-9a-f]{4}", printed)
    ackd.once()
    assert ackd.data("show", printed)["requester"] == "macro"


def test_rulings_take_their_value_bare(ackd: Any) -> None:
    """dri, extend and pick have one value, then the reason; cancel and close the reason alone."""
    ack_id = ackd.ask()
    ackd.once()
    assert dropped(ackd, ackd.data("ruling", ack_id, "extend", "3h", "they are many", *ZOE))["deadline"] == "3h"
    ruling = dropped(ackd, ackd.data("ruling", ack_id, "dri", "macro", "trading is away", *ZOE))
    assert (ruling["dri"], ruling["reason"]) == ("macro", "trading is away")
    ackd.once()
    assert ackd.data("show", ack_id)["dri"] == "macro"
    ackd.ok("ruling", ack_id, "close", "nobody needs it", *ZOE)
    ackd.once()
    assert ackd.data("show", ack_id)["ended_by"] == "ruling"


def test_attachments_lie_in_the_tree(ackd: Any, tmp_path: Path) -> None:
    """A file of the tree is attached by its path and hash; one from outside is refused."""
    ack_id = ackd.ask()
    ackd.tree.drop(f"roundtable/{ack_id}/table.csv", "a,b\n")
    said = ackd.data("supplement", ack_id, "the table", "--attach", f"roundtable/{ack_id}/table.csv", *MACRO)
    (attached,) = dropped(ackd, said)["attachments"]
    assert attached["path"] == f"roundtable/{ack_id}/table.csv"
    assert len(attached["sha256"]) == 64
    (tmp_path / "secret.txt").write_text("x", encoding="utf-8")
    for path in (str(tmp_path / "secret.txt"), "../secret.txt", "/etc/passwd"):
        assert ackd.error("supplement", ack_id, "x", "--attach", path, *MACRO)[0] == 2


@pytest.mark.parametrize("bad", [("--data", "{"), ("--metadata", "[1]"), ("--expects", "nope")])
def test_json_options_must_be_json(ackd: Any, bad: tuple[str, str]) -> None:
    """What is no JSON is a usage error that shows one."""
    assert ackd.error("request", "macro", "--action", "x", *bad, *ZOE)[0] == 2


def test_broadcast_prints_its_id(ackd: Any) -> None:
    """A broadcast without an ack_id gets one, which is printed."""
    printed = ackd.ok("broadcast", "all", "--body", "周一休市", *ZOE).strip()
    ackd.once()
    assert ackd.data("show", printed)["messages"][0]["verdict"] == "broadcast"


@pytest.mark.parametrize("words", [("final", "done"), ("confirm",), ("amend", "x"), ("cancel",), ("progress", "half")])
def test_a_thread_that_nobody_knows_is_refused(ackd: Any, words: tuple[str, ...]) -> None:
    """A slip in the ack_id exits 4 with the one that was meant, and leaves no folder; --anyway drops it."""
    ackd.ok("request", "macro", "--action", "x", "--ack-id", "gold-v1", *ZOE)
    ackd.once()
    code, error = ackd.error(words[0], "gold_v1", *words[1:], *MACRO)
    assert (code, error["message"]) == (4, "no thread gold_v1 is known; did you mean gold-v1?")
    assert error["hint"].startswith("ackd threads")
    assert not (ackd.tree.path / "roundtable/gold_v1").exists()
    if words[0] != "amend":
        assert ackd(words[0], "gold_v1", *words[1:], "--anyway", *MACRO).exit_code == 0
        ackd.once()
        assert ackd.data("show", "gold_v1")["conditions"] == ["held"]


def test_a_slip_means_a_thread_of_ones_own_first(ackd: Any) -> None:
    """Of two threads that are as near, the one in which the speaker has a part is named; an ended one comes last."""
    ackd.ok("request", "macro", "--action", "x", "--ack-id", "周报-v2", *ZOE)
    ackd.ok("request", "trading", "--action", "y", "--ack-id", "周报-v3", *ZOE)
    ackd.once()
    for speaker, meant in ((MACRO, "周报-v2"), (TRADING, "周报-v3")):
        assert ackd.error("final", "周报-v4", "x", *speaker)[1]["message"].endswith(f"did you mean {meant}?")
    ackd.ok("final", "周报-v2", "done: 40 %", *MACRO)
    ackd.once()
    assert ackd.error("final", "周报-v4", "x", *MACRO)[1]["message"].endswith("did you mean 周报-v3?")
    assert "did you mean" not in ackd.error("final", "nothing-like-it", "x", *MACRO)[1]["message"]


def test_a_request_that_waits_for_the_daemon_is_known(ackd: Any) -> None:
    """While no daemon runs a reply waits with its request, wherever that lies; the note says for which file."""
    ackd.tree.request("week-v1", path="notes/ask.json")
    done = ackd("confirm", "week-v1", "On it", *MACRO)
    assert done.exit_code == 0
    assert "notes/ask.json" in done.stderr
    ackd.once()
    assert ackd.data("show", "week-v1")["assignees"]["macro"] == "confirmed"


def test_an_unknown_recipient_is_answered_with_the_nearest_name(ackd: Any) -> None:
    """The hint names whom the roster has and no thread that does not exist; one of several unknown is noted."""
    code, error = ackd.error("request", "marco", "--action", "x", *ZOE)
    assert (code, error["hint"].partition("?")[0]) == (4, "did you mean macro")
    assert "ackd show" not in error["hint"]
    _, error = ackd.error("request", "all", "--dri", "Tradin", "--action", "x", *ZOE)
    assert "did you mean trading?" in error["hint"]
    _, error = ackd.error("request", "desk", "--action", "x", *ZOE)
    assert "--dri AGENT" in error["hint"]
    _, error = ackd.error("request", "xxxxxxx", "--action", "x", *ZOE)
    assert error["hint"].startswith("ackd agents list")
    assert list((ackd.tree.path / "roundtable").glob("*/*")) == []
    done = ackd("request", "marco", "trading", "--action", "x", *ZOE)
    assert done.exit_code == 0
    assert '"marco": did you mean macro?' in done.stderr


def test_an_unknown_sender_is_answered_with_the_nearest_name(ackd: Any) -> None:
    """Accents do not count; the way to add somebody new is said too."""
    for words in (("request", "macro", "--action", "x", "--from", "Zoë"), ("inbox", "Zoë")):
        assert ackd.error(*words)[1]["hint"] == "did you mean zoe? Somebody new: ackd agents add Zoë"
    ackd.ok("agents", "add", "风控")
    assert "did you mean 风控?" in ackd.error("inbox", "风空")[1]["hint"]


def test_a_status_that_is_none_is_answered_with_the_five(ackd: Any) -> None:
    """The hint is what --status takes."""
    ack_id = ackd.ask()
    ackd.once()
    code, error = ackd.error("final", ack_id, "x", "--status", "ok", *TRADING)
    assert code == 1
    assert error["hint"] == "--status takes success, partial_success, failed, rejected or cancelled"


def test_who_may_not_rule_is_told_who_may(closed: tuple[Any, str]) -> None:
    """Before and after the end: arbiters and people are named."""
    ackd, ended = closed
    running = ackd.ask("--ack-id", "next-v1")
    ackd.once()
    for ack_id in (ended, running):
        code, error = ackd.error("ruling", ack_id, "close", "x", *MACRO)
        assert (code, error["message"]) == (4, "macro may not rule: only arbiters and people do")
        assert error["hint"].startswith("who may: zoe, wen;")
    assert "new work" in ackd.error("ruling", ended, "close", "x", *ZOE)[1]["message"]


def test_what_is_missing_is_said_in_words(ackd: Any) -> None:
    """A recipient is no `to`, and the shortest form of the command stands beside it."""
    message = ackd.error("request", "--action", "x", *ZOE)[1]["message"]
    assert message == "request needs a recipient: ackd request AGENT… --action TEXT"
    message = ackd.error("request", "macro", *ZOE)[1]["message"]
    assert message == "request needs an action: ackd request AGENT… --action TEXT"


def test_a_decision_is_a_title_or_an_object(ackd: Any) -> None:
    """`--decision` takes both; what begins like an object must be one."""
    ack_id = ackd.ask()
    ackd.once()
    said = ackd.data("final", ack_id, "Cut 40 %", "--decision", "减仓", "--anyway", *TRADING)
    assert dropped(ackd, said)["decision"] == "减仓"
    said = ackd.data("final", ack_id, "Cut 40 %", "--decision", '{"title": "Cut"}', "--anyway", *TRADING)
    assert dropped(ackd, said)["decision"] == {"title": "Cut"}
    assert ackd.error("final", ack_id, "x", "--decision", "{", *TRADING)[0] == 2
