"""A classifier small enough to read: it counts words. Put your own model in its place."""

import math
import re

LABELS = ["negative", "positive"]
GOOD = {"good", "great", "warm", "honest", "loved", "lovely", "funny", "moving"}
BAD = {"bad", "boring", "terrible", "dull", "awful", "hated", "thin", "lazy"}


def predict(texts):
    """Probabilities for each text, or for each pair of texts, in the order of LABELS."""
    return [_probabilities(text if isinstance(text, str) else " ".join(text)) for text in texts]


def _probabilities(text):
    words = re.findall(r"[\w']+", text.lower())
    logit = sum((word in GOOD) - (word in BAD) for word in words)
    positive = 1 / (1 + math.exp(-1.5 * logit))
    return [1 - positive, positive]


# The same with a model from transformers:
#
# import torch
# from transformers import AutoModelForSequenceClassification, AutoTokenizer
#
# NAME = "distilbert-base-uncased-finetuned-sst-2-english"
# tokenizer = AutoTokenizer.from_pretrained(NAME)
# model = AutoModelForSequenceClassification.from_pretrained(NAME).eval()  # eval: no dropout
# LABELS = [model.config.id2label[i] for i in range(model.config.num_labels)]
#
#
# def predict(texts):
#     firsts = [text if isinstance(text, str) else text[0] for text in texts]
#     seconds = None if isinstance(texts[0], str) else [text[1] for text in texts]
#     batch = tokenizer(firsts, seconds, padding=True, truncation=True, return_tensors="pt")
#     with torch.inference_mode():
#         return model(**batch).logits.softmax(-1).tolist()
