"""Serves a model over a pipe: a JSON line in, a JSON line out. Needs nothing but Python."""

import json
import sys

from toy import LABELS, predict  # your own: a list of names, and a function from texts to probabilities

# Replies own stdout; whatever a library prints goes to stderr instead.
replies, sys.stdout = sys.stdout, sys.stderr

for line in sys.stdin:
    texts = json.loads(line)["texts"]
    replies.write(json.dumps({"scores": predict(texts), "labels": LABELS}) + "\n")
    replies.flush()  # without this the reply waits in a buffer, and the other side for the reply
