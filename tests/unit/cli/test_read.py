"""The commands that read: inbox, threads, show, log, rejected, status, reply-check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

MACRO = ("--from", "macro")


def test_an_empty_inbox_is_one_line(ackd: Any) -> None:
    """Nothing owed and nothing new is said in one line, with exit 0."""
    assert ackd.ok("inbox", "macro") == "macro: nothing is owed, nothing is new\n"
    assert ackd.data("inbox", "macro") == []


def test_the_inbox_says_what_to_type(ackd: Any) -> None:
    """What is owed comes with its commands and the words that were asked, at most 80 columns a line of prose."""
    ack_id = ackd.ask("--ack-id", "week-v1")
    ackd.once()
    said = ackd.ok("inbox", "trading")
    assert f'ackd confirm {ack_id} "…"' in said
    assert f'ackd final {ack_id} "…"' in said
    assert "Plan the week" in said
    assert max(len(one) for one in said.splitlines()) <= 80
    (item,) = ackd.data("inbox", "TRADING")
    assert item["asks"] == ["confirm", "final"]
    assert item["delivery"]["envelope"]["action"] == "Plan the week"


def test_taking_is_reading_and_not_doing(ackd: Any) -> None:
    """--take empties the folder; what is owed is still listed, what was told is not."""
    ack_id = ackd.ask()
    ackd.once()
    ackd.ok("confirm", ack_id, "On it", *MACRO)
    ackd.once()
    assert [item["kind"] for item in ackd.data("inbox", "zoe", "--take")] == ["confirmed"]
    assert ackd.data("inbox", "zoe") == []
    ackd.ok("inbox", "trading", "--take")
    assert list((ackd.tree.path / "inbox/trading").glob("*.json")) == []
    (owed,) = ackd.data("inbox", "trading")
    assert (owed["kind"], owed["ack_id"], owed["path"]) == ("owed", ack_id, None)
    assert set(owed["asks"]) == {"confirm", "final"}


def test_what_is_owed_comes_before_what_is_told(ackd: Any) -> None:
    """The oldest debt is first, news come after all debts."""
    first = ackd.ask("--ack-id", "a-v1")
    ackd.once()
    ackd.ok("confirm", first, "On it", "--from", "macro")
    ackd.once()
    ackd.ok("request", "zoe", "--action", "Rule on it", "--ack-id", "b-v1", "--from", "trading")
    ackd.once()
    assert [bool(item["asks"]) for item in ackd.data("inbox", "zoe")] == [True, False]


def test_an_inbox_needs_a_name_of_the_roster(ackd: Any) -> None:
    """An unknown name is said with the command that adds it; none at all is a usage error."""
    assert ackd.error("inbox", "lotte")[1]["hint"] == "ackd agents add lotte"
    assert ackd.error("inbox")[0] == 2
    assert ackd("inbox", env={"ACKD_AGENT": "macro"}).exit_code == 0


def test_threads_are_filtered_by_state(closed: tuple[Any, str]) -> None:
    """Each state lists its own threads; the JSON has the first four keys of show."""
    ackd, ended = closed
    running = ackd.ask("--ack-id", "next-v1")
    ackd.once()
    assert [one["ack_id"] for one in ackd.data("threads", "--state", "request")] == [running]
    assert [one["ack_id"] for one in ackd.data("threads", "--state", "final")] == [ended]
    assert {one["ack_id"] for one in ackd.data("threads")} == {ended, running}
    assert ackd.data("threads", "--overdue") == []
    assert list(ackd.data("threads")[0])[:4] == ["ack_id", "state", "conditions", "dri"]
    said = ackd.ok("threads")
    assert "● final" in said
    assert "○ request" in said


def test_show_has_the_keys_of_the_contract(closed: tuple[Any, str]) -> None:
    """`data` has ack_id, state, conditions, dri, assignees, final, messages and deliveries."""
    ackd, ack_id = closed
    thread = ackd.data("show", ack_id)
    wanted = {"ack_id", "state", "conditions", "dri", "assignees", "final", "messages", "deliveries"}
    assert wanted <= set(thread)
    assert (thread["state"], thread["dri"], thread["conditions"]) == ("final", "trading", [])
    assert thread["assignees"] == {"macro": "confirmed", "trading": "confirmed"}
    assert (thread["final"]["conclusion"], thread["final"]["from"]) == ("Cut 40 %", "trading")
    assert all({"type", "from", "verdict", "path"} <= set(one) for one in thread["messages"])
    assert [one["verdict"] for one in thread["messages"]] == ["opened", "confirmed", "confirmed", "closed"]
    assert {"request", "final"} <= {one["kind"] for one in thread["deliveries"]}


def test_show_puts_the_final_first(closed: tuple[Any, str]) -> None:
    """As text the result stands before what was asked, and both before who said what."""
    ackd, ack_id = closed
    said = ackd.ok("show", ack_id)
    assert said.index("Cut 40 %") < said.index("Plan the week") < said.index("Said")


def test_a_thread_without_a_request_has_no_state(ackd: Any) -> None:
    """What waits for its request is shown as held, with a state of null."""
    ackd.tree.drop("roundtable/x/confirmed.json", {"state": "confirmed", "ack_id": "early-v1", "from": "macro"})
    ackd.once()
    thread = ackd.data("show", "early-v1")
    assert (thread["state"], thread["conditions"], thread["final"]) == (None, ["held"], None)


def test_an_unknown_thread_is_an_error(ackd: Any) -> None:
    """It exits 1 at once, and after the time with --wait."""
    assert ackd.error("show", "nope-v1")[0] == 1
    assert ackd.error("show", "nope-v1", "--wait", "0.2")[0] == 1


def test_the_log_lists_every_dropped_file(closed: tuple[Any, str]) -> None:
    """Each file has its verdict, in the order in which they came; --jsonl has one object a line."""
    ackd, ack_id = closed
    verdicts = [one["verdict"] for one in ackd.data("log")]
    assert verdicts == ["opened", "confirmed", "confirmed", "closed"]
    lines = [json.loads(one) for one in ackd.ok("log", "--jsonl").splitlines()]
    assert [one["path"] for one in lines] == [one["path"] for one in ackd.data("log")]
    assert [one["verdict"] for one in ackd.data("log", "-n", "1")] == ["closed"]
    assert f"roundtable/{ack_id}/final-trading.json" in ackd.ok("log")


def test_a_file_is_named_from_wherever_one_stands(closed: tuple[Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An absolute path, one from the working folder and one from the tree's top name the same file."""
    ackd, ack_id = closed
    path = f"roundtable/{ack_id}/final-trading.json"
    monkeypatch.chdir(ackd.tree.path / "roundtable")
    for written in (path, str(ackd.tree.path / path), f"{ack_id}/final-trading.json"):
        assert ackd.data("log", "--file", written)["verdict"] == "closed"


def test_a_file_without_a_verdict_says_why(ackd: Any) -> None:
    """Waiting for the daemon, not whole, no drop, or not there: each is said; only the last exits 1."""
    ackd.tree.request()
    ackd.tree.drop("half.json", '{"state": "request", ')
    assert ackd.data("log", "--file", "roundtable/week-v1/request-zoe.json")["verdict"] == "waiting"
    assert ackd.data("log", "--file", "half.json")["verdict"] == "pending"
    assert ackd.data("log", "--file", "PROJECT_STATUS.md")["verdict"] == "no-drop"
    done = ackd("log", "--file", "gone.json", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["data"]["verdict"] == "missing"
    ackd.once()
    path = ackd.tree.request(action="Plan it anew")
    assert "changed since" in ackd.data("log", "--file", str(path))["because"]


def test_refused_files_say_how_to_put_them_right(ackd: Any) -> None:
    """Each has its reason and its fix; an id or a path gives one whole; corrected in place it is gone."""
    assert ackd.ok("rejected") == "no file is refused\n"
    ackd.tree.drop("a/bad.json", {"state": "request", "ack_id": "b-v1", "from": "zoe", "to": "macro"})
    ackd.tree.drop("b/who.json", {"state": "request", "ack_id": "c-v1", "from": "lotte", "to": "macro", "action": "x"})
    ackd.once()
    documents = {one["path"]: one for one in ackd.data("rejected")}
    assert documents["b/who.json"]["fix"] == "ackd agents add lotte"
    one = ackd.data("rejected", documents["a/bad.json"]["id"])
    assert [error["pointer"] for error in one["errors"]] == ["/action"]
    assert "/action" in ackd.ok("rejected", "a/bad.json")
    assert ackd.error("rejected", "nothing")[0] == 1
    ackd.tree.drop("a/bad.json", {"state": "request", "ack_id": "b-v1", "from": "zoe", "to": "macro", "action": "x"})
    ackd.once()
    assert [one["path"] for one in ackd.data("rejected")] == ["b/who.json"]


def test_status_without_a_daemon_exits_0(ackd: Any) -> None:
    """It says that none runs, how many threads are in which state, and who owes what."""
    ack_id = ackd.ask()
    ackd.once()
    status = ackd.data("status")
    assert status["daemon"] is None
    assert status["counts"] == {"request": 1, "confirmed": 0, "final": 0}
    owed = [(one["agent"], one["step"], one["ack_id"]) for one in status["owes"]]
    assert sorted(owed) == [("macro", "confirm", ack_id), ("trading", "confirm", ack_id), ("trading", "final", ack_id)]
    said = ackd.ok("status")
    assert "no daemon runs" in said
    assert "○ request 1" in said


def test_a_broken_team_file_is_said_and_ends_nothing(ackd: Any) -> None:
    """Status and threads still answer while team.yaml cannot be used."""
    ackd.ask()
    ackd.once()
    ackd.tree.drop("team.yaml", "agents: [\n")
    assert "team.yaml" in ackd.ok("status")
    assert len(ackd.data("threads")) == 1


def test_reading_without_a_memory(ackd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that never ran the daemon, threads, files and inboxes are read from the tree."""
    ack_id = ackd.ask()
    ackd.once()
    before = {name: ackd.data(*name.split()) for name in ("threads", f"show {ack_id}", "log", "inbox macro")}
    monkeypatch.setenv("ACKD_STATE", str(tmp_path / "elsewhere"))
    for name, said in before.items():
        assert ackd.data(*name.split()) == said
    assert ackd.data("status")["source"] == "tree"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        (("收到，谢谢！",), "NO_REPLY"),
        (("> Cut 40 %",), "NO_REPLY"),
        (("@trading please look",), "NO_REPLY"),
        (("Why so much?",), "REPLY"),
        (("--outgoing", "NO_REPLY"), "NO_REPLY"),
        (("--outgoing", "thanks!"), "NO_REPLY"),
        (("--outgoing", "The limit is 40 %"), "REPLY"),
    ],
)
def test_reply_check_prints_the_word_first(ackd: Any, words: tuple[str, ...], reply: str) -> None:
    """The first word is NO_REPLY or REPLY, and both exit 0."""
    said = ackd.ok("reply-check", "--agent", "macro", *words)
    assert said.split()[0] == reply
    assert " — " in said
    assert ackd.data("reply-check", "--agent", "macro", *words)["reply"] == reply


def test_reply_check_reads_stdin_and_knows_the_end(closed: tuple[Any, str]) -> None:
    """After the final, substance is answered with the note that no answer is owed."""
    ackd, ack_id = closed
    said = ackd.ok("reply-check", "--agent", "macro", "--ack-id", ack_id, "-", stdin="另外查一下成交额")
    assert said.startswith("REPLY")
    assert "new ack_id" in said


def test_hostile_texts_cannot_steer_a_terminal(ackd: Any) -> None:
    """Escape sequences in a dropped file reach no reading command raw, as text or as JSON."""
    hostile = "\x1b]0;owned\x07\x9b2J\u202eevil"
    request = {"state": "request", "ack_id": "h-v1", "from": "zoe", "to": "macro", "action": hostile}
    ackd.tree.drop("r.json", request | {"deadline": hostile[:100]})
    ackd.tree.drop(f"x{hostile[:4]}.json", {"state": "request", "ack_id": "bad", "from": "zoe", "note": hostile})
    ackd.once()
    for words in (("inbox", "macro"), ("threads",), ("show", "h-v1"), ("log",), ("rejected",), ("status",)):
        for said in (ackd.ok(*words), ackd.ok(*words, "--json")):
            assert not set(said) & set("\x1b\x07\x9b\u202e"), words


def test_what_the_inbox_prints_is_right_when_pasted(ackd: Any) -> None:
    """A command names its speaker unless ACKD_AGENT is that one already, and the tree where it had to be named."""
    ackd.ask("--ack-id", "week-v1")
    ackd.once()
    own = ackd("inbox", env={"ACKD_AGENT": "Trading"}).stdout
    assert '  $ ackd final week-v1 "…"\n' in own
    assert '  or: ackd clarify week-v1 "…"; ackd decline week-v1 "…"\n' in own
    for env in ({"ACKD_AGENT": "zoe"}, {}):
        other = ackd("inbox", "trading", env=env).stdout
        assert '  $ ackd final week-v1 "…" --from trading\n' in other
        assert '  or: ackd decline week-v1 "…" --from trading\n' in other
        assert max(len(one) for one in other.splitlines()) <= 80
    assert f"--from trading --dir {ackd.tree.path}\n" in ackd.ok("inbox", "trading", "--dir", str(ackd.tree.path))
    (item,) = ackd.data("inbox", "macro")
    assert item["commands"] == ['ackd confirm week-v1 "…" --from macro']
    assert item["otherwise"] == ['ackd clarify week-v1 "…" --from macro', 'ackd decline week-v1 "…" --from macro']


def test_taking_a_handoff_is_not_confirming_ones_own_part(ackd: Any) -> None:
    """The two commands name what they answer, and each does what it says."""
    ack_id = ackd.ask()
    ackd.once()
    handoff = ackd.data("handoff", ack_id, "macro", "A rates question", "--from", "trading")
    ackd.once()
    items = {item["asks"][0]: item["commands"] for item in ackd.data("inbox", "macro")}
    assert items["accept"] == [f'ackd confirm {ack_id} "…" --in-reply-to {handoff["message_id"]} --from macro']
    assert len(items["confirm"]) == 1
    assert handoff["message_id"] not in items["confirm"][0]
    for ask, verdict in (("confirm", "confirmed"), ("accept", "accepted")):
        words = items[ask][0].removeprefix("ackd ").replace('"…"', ask).split()
        path = ackd.data(*words)["path"]
        ackd.once()
        assert ackd.data("log", "--file", path)["verdict"] == verdict
    assert ackd.data("show", ack_id)["dri"] == "macro"


def test_an_arbiter_sees_each_way_to_rule() -> None:
    """One command a kind of ruling, four at most."""
    from ackd.engine.steps import STEPS

    kinds = [form.split()[2] for form in STEPS["rule"]]
    assert kinds == ["dri", "extend", "cancel", "close"]


def test_no_command_is_made_of_what_is_no_id(ackd: Any) -> None:
    """A file that only looks like a delivery gives nobody something to paste."""
    delivery = {"ackd": "delivery/1", "kind": "request", "thread": "x; rm -rf ~", "asks": ["confirm"]}
    ackd.tree.drop("inbox/macro/made-up.json", delivery)
    assert ackd.data("inbox", "macro")[0]["commands"] == []
    assert "  $ " not in ackd.ok("inbox", "macro")


def test_threads_put_the_open_first(closed: tuple[Any, str]) -> None:
    """What is open stands before what has ended, what is late before both; --open leaves the ended out."""
    ackd, ended = closed
    ackd.tree.team(timeouts={"reminder": 0.001, "escalation": 0.002, "complete": "30m"})
    ackd.ask("--ack-id", "late-v1")
    ackd.once()
    ackd.once()
    ackd.once()
    ackd.tree.team(timeouts={"reminder": "5m"})
    ackd.ask("--ack-id", "calm-v1")
    ackd.once()
    listed = [(one["ack_id"], bool(one["conditions"])) for one in ackd.data("threads")]
    assert listed == [("late-v1", True), ("calm-v1", False), (ended, False)]
    assert [one["ack_id"] for one in ackd.data("threads", "--open")] == ["late-v1", "calm-v1"]
    owes = {(one["ack_id"], one["step"]): one["late"] for one in ackd.data("status")["owes"]}
    assert owes["late-v1", "confirm"] is True
    assert owes["late-v1", "final"] is owes["calm-v1", "confirm"] is False
    assert "trading its confirmed (late)" in ackd.ok("threads")


def test_threads_show_every_debt(ackd: Any) -> None:
    """However many owe something, the newest is not cut off; lines have at most 80 columns."""
    names = [f"agent-{number:02}" for number in range(12)]
    ackd.tree.team(agents=dict.fromkeys(["zoe", *names]), groups={}, people={})
    ackd.ok("request", *names, "--action", "Count", "--ack-id", "all-v1", "--from", "zoe")
    ackd.once()
    ackd.ok("handoff", "all-v1", "agent-01", "yours", "--from", "agent-00")
    ackd.once()
    said = ackd.ok("threads")
    words = " ".join(said.split())
    assert all(f"{name} its confirmed" in words for name in names)
    assert "agent-01 an answer to a handoff (accept or decline)" in words
    for text in (said, ackd.ok("status"), ackd.ok("show", "all-v1").partition("Said")[0]):
        assert max(len(one) for one in text.splitlines() if "/" not in one) <= 80


def test_the_log_keeps_within_80_columns(ackd: Any) -> None:
    """A long path has a line of its own, whole; what is said of it is wrapped."""
    path = "roundtable/" + "a-long-name-" * 5 + "v1/request-from-zoe.json"
    ackd.tree.drop(path, {"state": "request", "ack_id": "b-v1", "from": "zoe", "to": "macro", "note": "x"})
    ackd.once()
    lines = ackd.ok("log").splitlines()
    assert f"  {path}" in lines
    assert [one for one in lines if len(one) > 80 and path not in one] == []


def test_a_request_that_waits_is_not_unknown(ackd: Any) -> None:
    """While no daemon runs, `show` says in which file a thread waits; a slip is answered with the thread meant."""
    ackd.ask("--ack-id", "later-v1")
    _, error = ackd.error("show", "later-v1")
    where = "roundtable/later-v1/request-zoe.json"
    assert error["message"] == f"thread later-v1 is not taken in yet: {where} waits for a daemon"
    assert error["hint"] == "ackd up"
    assert ackd.error("show", "later-v1", "--wait", "0.2")[1]["hint"] == "ackd up"
    ackd.once()
    assert ackd.data("show", "later-v1")["state"] == "request"
    assert ackd.error("show", "lateer-v1")[1]["message"].endswith("did you mean later-v1?")


def test_show_says_who_wrote_the_final(ackd: Any) -> None:
    """A DRI that finished without a confirmed wrote the final; it is not shown as merely asked."""
    ackd.ok("request", "macro", "--action", "x", "--ack-id", "a-v1", "--from", "zoe")
    ackd.once()
    ackd.ok("final", "a-v1", "Cut 40 %", *MACRO)
    ackd.once()
    assert ackd.data("show", "a-v1")["assignees"] == {"macro": "final"}
    assert "macro  DRI  wrote the final" in ackd.ok("show", "a-v1")


def test_after_the_end_a_reply_is_a_choice(closed: tuple[Any, str]) -> None:
    """The first word stays REPLY, and the sentence says that none is owed."""
    ackd, ack_id = closed
    said = ackd.ok("reply-check", "--agent", "trading", "--ack-id", ack_id, "OK, but wait: why 40?")
    assert said.startswith("REPLY — reply only if it needs one")
    assert "no answer is owed" in said


def test_show_says_what_was_said(closed: Any) -> None:
    """The words of each message, the zone of its times, and where the decision record lies."""
    ackd, ack_id = closed
    said = ackd.ok("show", ack_id)
    assert "| On it" in said
    assert "| Cut 40 %" in said
    assert "(times: " in said
    assert "decision record" not in said
    ackd.tree.request("move-v1")
    ackd.once()
    decision = {"title": "搬迁", "options": ["搬", "不搬"], "chosen": "搬"}
    final = {"state": "final", "ack_id": "move-v1", "from": "trading", "conclusion": "搬", "decision": decision}
    ackd.tree.drop("roundtable/move-v1/final-trading.json", final)
    ackd.once()
    (record,) = (ackd.tree.path / "decisions").glob("*move-v1.md")
    assert f"decision record: decisions/{record.name}" in ackd.ok("show", "move-v1")
    assert ackd.data("show", "move-v1")["decision"] == f"decisions/{record.name}"
    assert f"(../../decisions/{record.name})" in ackd.tree.page("roundtable/move-v1/THREAD.md")


def test_show_says_what_was_ruled(ackd: Any) -> None:
    """The ruling itself, not only that there was one."""
    ack_id = ackd.ask()
    ackd.once()
    ackd.ok("ruling", ack_id, "dri", "--dri", "macro", "--from", "zoe")
    ackd.once()
    assert "| ruling=dri, dri=macro" in ackd.ok("show", ack_id)


def test_rejected_fits_80_columns(ackd: Any) -> None:
    """Reasons and repairs wrap; an id and a path are never cut."""
    ackd.tree.drop(
        "roundtable/很长的文件夹名字/bad-1.json", {"State": "request", "ack_id": "x", "from": "zoe", "to": ["macro"]}
    )
    ackd.tree.drop("bad-2.json", {"state": "request", "ack_id": "x", "from": "zoe"})
    ackd.once()
    said = ackd.ok("rejected").splitlines()
    assert max(len(one) for one in said) <= 80
    assert any("bad-1.json" in one for one in said)


def test_one_thread_is_one_entry_of_the_inbox(ackd: Any) -> None:
    """After a reminder too: it names what is late, and what else is owed stands with it."""
    ackd.tree.team(timeouts={"reminder": "1s", "escalation": "60s"})
    ack_id = ackd.ask()
    ackd.once()
    import time

    time.sleep(1.2)
    ackd.once()
    (item,) = ackd.data("inbox", "trading")
    assert (item["kind"], item["ack_id"]) == ("reminder", ack_id)
    assert item["asks"] == ["confirm", "final"]


@pytest.mark.parametrize("group", ["agents", "config"])
def test_a_group_alone_shows_its_help(ackd: Any, group: str) -> None:
    """In its own lines, with exit 0."""
    said = ackd.ok(group)
    lines = said.splitlines()
    assert lines[0].startswith("Usage: ")
    assert "Commands:" in lines


def test_the_log_of_the_page_gives_what_came_from_it(ackd: Any, tree: Any) -> None:
    """Each request and ruling with its verdict, line and thread; a page that asks nothing has none."""
    assert ackd.data("log", "--file", "PROJECT_STATUS.md")["lines"] == []
    text = "---\nupdated_by: wen\n---\n## Requests\n- [ ] @macro: 看油价\n## Rulings\n- ghost-v1: close\n"
    tree.drop("PROJECT_STATUS.md", text)
    ackd.once()
    found = ackd.data("log", "--file", "PROJECT_STATUS.md")
    assert found["verdict"] == "no-drop"
    assert [(one["line"], one["verdict"]) for one in found["lines"]] == [(5, "opened"), (7, "held")]
    assert found["lines"][0]["ack_id"].startswith("page-看油价-")
    said = ackd.ok("log", "--file", "PROJECT_STATUS.md")
    assert "PROJECT_STATUS.md:5" in said
    assert "no-drop" not in said
