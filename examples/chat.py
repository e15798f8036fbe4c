#!/usr/bin/env python3
"""Tells a chat what a run of ralph asks, and gives the answers back.

Start it beside the run, in the project: `python3 chat.py ntfy`, `telegram` or `slack`. It ends with the run, and with its
exit code. It is a program of yours, not a hook: ralph takes no answers from programs that it has started itself.

What you write in the chat:
    1 yes           allows what request 1 asks for; `no`, `always` and `project` as in `ralph answer`
    1 Use port 80   answers question 1
    anything else   goes to the agent with its next prompt

Variables: RALPH (the program, `ralph`), and for
    ntfy      NTFY_TOPIC, a name that nobody can guess; NTFY_SERVER (https://ntfy.sh), NTFY_TOKEN
    telegram  TELEGRAM_TOKEN of your bot, TELEGRAM_CHAT, the id of your chat with it
    slack     SLACK_TOKEN of your app (chat:write, channels:history), SLACK_CHANNEL, SLACK_USER, your own id
Whoever can write to that topic, chat or account commands the agent.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

RALPH = os.environ.get("RALPH", "ralph")
# Seconds between two looks at the chat.
PAUSE = float(os.environ.get("CHAT_PAUSE", "5"))
# Attempts to tell the end of the run.
LAST_TRIES = 3


def fetch(url, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **(headers or {})}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
        return answer.read().decode()


class Ntfy:
    def __init__(self):
        self.server = os.environ.get("NTFY_SERVER", "https://ntfy.sh").rstrip("/")
        self.topic = os.environ["NTFY_TOPIC"]
        token = os.environ.get("NTFY_TOKEN")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.since = str(int(time.time()))

    def tell(self, text):
        # The tag tells these messages from yours.
        fetch(self.server, {"topic": self.topic, "message": text, "tags": ["ralph"]}, self.headers)

    def read(self):
        topic = urllib.parse.quote(self.topic, safe="")
        lines = fetch(f"{self.server}/{topic}/json?poll=1&since={self.since}", headers=self.headers).splitlines()
        for message in map(json.loads, lines):
            if message.get("event") == "message":
                self.since = message["id"]
                if "ralph" not in message.get("tags", []):
                    yield message.get("message", "")


class Telegram:
    def __init__(self):
        server = os.environ.get("TELEGRAM_SERVER", "https://api.telegram.org").rstrip("/")
        self.base = f"{server}/bot{os.environ['TELEGRAM_TOKEN']}"
        self.chat = int(os.environ["TELEGRAM_CHAT"])
        # What was written before the run is no answer to it.
        old = json.loads(fetch(f"{self.base}/getUpdates?offset=-1"))["result"]
        self.offset = old[-1]["update_id"] + 1 if old else 0

    def tell(self, text):
        fetch(f"{self.base}/sendMessage", {"chat_id": self.chat, "text": text})

    def read(self):
        for update in json.loads(fetch(f"{self.base}/getUpdates?offset={self.offset}"))["result"]:
            self.offset = update["update_id"] + 1
            message = update.get("message", {})
            # Everybody can write to a bot.
            if message.get("chat", {}).get("id") == self.chat:
                yield message.get("text", "")


class Slack:
    def __init__(self):
        self.base = os.environ.get("SLACK_SERVER", "https://slack.com").rstrip("/") + "/api"
        self.channel, self.user = os.environ["SLACK_CHANNEL"], os.environ["SLACK_USER"]
        self.headers = {"Authorization": f"Bearer {os.environ['SLACK_TOKEN']}"}
        self.oldest = f"{time.time():.6f}"

    def call(self, method, body=None):
        answer = json.loads(fetch(f"{self.base}/{method}", body, self.headers))
        if not answer.get("ok"):
            raise OSError(f"Slack refuses {method}: {answer.get('error')}")
        return answer

    def tell(self, text):
        self.call("chat.postMessage", {"channel": self.channel, "text": text})

    def read(self):
        query = urllib.parse.urlencode({"channel": self.channel, "oldest": self.oldest})
        # The newest message comes first.
        for message in reversed(self.call(f"conversations.history?{query}")["messages"]):
            self.oldest = max(self.oldest, message["ts"], key=float)
            if message.get("user") == self.user and "bot_id" not in message:
                yield message.get("text", "")


CHATS = {"ntfy": Ntfy, "telegram": Telegram, "slack": Slack}


def told(ask):
    number = ask["number"]
    if ask["type"] == "blocks":
        return f"{ask.get('task') or 'The agent'}: {ask['question']}\nAnswer: {number} TEXT"
    request = ask["request"]
    return f"{request['tool']}: {request['title']}\nAnswer: {number} yes, or {number} no REASON"


def command_of(text):
    """The command for a message of the user's."""
    first, _, rest = text.strip().partition(" ")
    if first.isdigit() and rest.strip():
        word, _, reason = rest.strip().partition(" ")
        words = [word.lower(), reason] if word.lower() == "no" and reason else [rest.strip()]
        # After `--`, nothing that was written is taken for an option.
        return [RALPH, "answer", first, "--", *words]
    return [RALPH, "steer", "--", text.strip()]


def follow(news):
    """Puts each question into `news` once, and the end. Returns the exit code of the run."""
    known = set()
    with subprocess.Popen([RALPH, "status", "--watch", "--json"], stdout=subprocess.PIPE, text=True) as watch:
        for line in watch.stdout:
            status = json.loads(line)
            for ask in status["asks"]:
                if (status["run"], ask["number"]) not in known:
                    known.add((status["run"], ask["number"]))
                    news.put(told(ask))
            if status["over"]:
                news.put(f"The run is over: {status['phase']}")
    return watch.returncode


def carry_out(text):
    done = subprocess.run(command_of(text), capture_output=True, text=True)
    return (done.stdout + done.stderr).strip() or "done"


def talk(chat, news, over):
    """Tells what is new and takes messages until the run is over, and everything told or given up."""
    waiting, left = [], LAST_TRIES
    while True:
        is_over = over.wait(PAUSE)
        while not news.empty():
            waiting.append(news.get())
        try:
            while waiting:
                chat.tell(waiting[0])
                waiting.pop(0)
            if is_over:
                return
            for text in chat.read():
                if text.strip():
                    waiting.append(carry_out(text))
        except (OSError, ValueError, KeyError) as error:
            print(f"chat: {error}", file=sys.stderr)
            left -= is_over
            if left == 0:
                return
            time.sleep(PAUSE * is_over)


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CHATS:
        sys.exit(__doc__)
    try:
        chat = CHATS[sys.argv[1]]()
    except KeyError as missing:
        sys.exit(f"the variable {missing.args[0]} is not set")
    news, over = queue.Queue(), threading.Event()
    talking = threading.Thread(target=talk, args=(chat, news, over))
    talking.start()
    code = follow(news)
    over.set()
    talking.join()
    sys.exit(code)


if __name__ == "__main__":
    main()
