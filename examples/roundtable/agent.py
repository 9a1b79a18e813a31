"""A small agent: it knows AGENTS.md and nothing else, and needs the standard library alone.

It looks into its inbox, reads what is asked, fills in a skeleton, drops it, and deletes the delivery that it has read.
What a language model would think up stands here as three fixed parts: `zoe`, `macro` and `trading`.

    python agent.py NAME TREE
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ACK_ID = "ashare-week-v1-202603081430"
THANKS = {
    "macro": ["收到，谢谢！", "辛苦了，感谢！", "谢谢 trading！", "Great work, thank you all!", "👍"],
    "trading": ["谢谢！", "不客气，收到", "Thanks, macro!", "You're welcome!", "🙏"],
}
"""What two polite agents write when everything is said: each answers the other, as in a chat."""

_LOOK_S = 0.1
_WORK_S = 1.5
_PAUSE_S = 0.25

Delivery = dict[str, Any]


class Agent:
    """One agent's hands: its inbox, and the way to drop a message.

    Args:
        name: Its name in `team.yaml`.
        tree: The folder `shared-context`.
    """

    def __init__(self, name: str, tree: Path) -> None:
        self.name, self.tree, self.inbox = name, tree, tree / "inbox" / name
        self._parent = os.getppid()

    def waiting(self) -> list[Path]:
        """Give what lies in the inbox, the oldest first; without the parent nobody plays on."""
        if os.getppid() != self._parent:
            raise SystemExit(1)
        time.sleep(_LOOK_S)
        return sorted(self.inbox.glob("*.json"))

    def take(self) -> Delivery:
        """Wait for a delivery, read the oldest one, and delete it."""
        while not (waiting := self.waiting()):
            pass
        delivery: Delivery = json.loads(waiting[0].read_text(encoding="utf-8"))
        waiting[0].unlink()
        return delivery

    def answer(self, delivery: Delivery, for_: str, **words: Any) -> None:
        """Fill in the skeleton for one of the things that are asked, and drop it where the delivery says."""
        chosen = next(answer for answer in delivery["answers"] if answer["for"] == for_)
        self.drop(chosen["drop_at"], {**chosen["skeleton"], **words})

    def drop(self, path: str, message: dict[str, Any]) -> None:
        """Write a message under another name, then rename it, so that nobody reads half of it."""
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.tmp")
        draft.write_text(json.dumps(message, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        draft.replace(target)

    def chat(self, other: str, *, begins: bool) -> None:
        """Exchange thanks with another agent, whose files it reads in the thread's folder: what no agent should do."""
        for number, text in enumerate(THANKS[self.name], 1):
            heard = number - 1 if begins else number
            while heard and not (self.tree / _thanks_path(other, heard)).exists():
                self.waiting()
            time.sleep(_PAUSE_S)
            said = {"type": "supplement", "ack_id": ACK_ID, "from": self.name, "body": text}
            self.drop(_thanks_path(self.name, number), said)


def _thanks_path(agent: str, number: int) -> str:
    return f"roundtable/{ACK_ID}/supplement-{agent}{'' if number == 1 else f'-{number}'}.json"


def zoe(agent: Agent) -> None:
    """Ask, then wait for the final."""
    request = {
        "state": "request",
        "ack_id": ACK_ID,
        "from": "zoe",
        "to": ["macro", "trading"],
        "dri": "trading",
        "action": "Next week's A-share strategy: how much exposure, and why?",
        "deadline": "2h",
    }
    agent.drop(f"roundtable/{ACK_ID}/request-zoe.json", request)
    while agent.take()["kind"] != "final":
        pass


def macro(agent: Agent) -> None:
    """Confirm at once, with substance; read the final; be too polite."""
    agent.answer(agent.take(), "confirm", version="v2", conclusion="Oil shock is priced in; 预计低开，周三后企稳")
    while agent.take()["kind"] != "final":
        pass
    agent.chat("trading", begins=True)


def trading(agent: Agent) -> None:
    """Look into the inbox only when reminded; confirm; build the final on what macro confirmed; be too polite."""
    while not any("-reminder-" in path.name for path in agent.waiting()):
        pass
    heard = ""
    while (delivery := agent.take())["kind"] != "reminder":
        if delivery["kind"] == "confirmed":
            heard = delivery["envelope"]["conclusion"]
    agent.answer(delivery, "confirm", conclusion="Sizing the position on macro's view")
    time.sleep(_WORK_S)
    agent.drop(f"roundtable/{ACK_ID}/final-trading.json", _final(heard))
    agent.chat("macro", begins=False)


def _final(heard: str) -> dict[str, Any]:
    """Write the final in the shape that AGENTS.md shows, with the decision that it takes."""
    options = [
        {"name": "Keep 70 %", "good": "no trading costs", "bad": "the weak open hits in full"},
        {"name": "Cut to 40 %", "good": "room to buy back lower", "bad": "late if there is no weak open"},
        {"name": "Go to cash", "bad": "misses the recovery after Wednesday"},
    ]
    return {
        "state": "final",
        "ack_id": ACK_ID,
        "from": "trading",
        "status": "success",
        "conclusion": "Cut exposure to 40 %, add again after Wednesday",
        "body": f'macro: "{heard}". So we enter the week light, and buy back once the open is behind us.',
        "decision": {
            "title": "A-share exposure for the week of 9 March",
            "context": f"macro's view: {heard}",
            "options": options,
            "chosen": "Cut to 40 %",
            "because": "a weak open is expected, and it is short",
        },
    }


PARTS: dict[str, Callable[[Agent], None]] = {"zoe": zoe, "macro": macro, "trading": trading}

if __name__ == "__main__":
    _, name, tree = sys.argv
    try:
        PARTS[name](Agent(name, Path(tree)))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
