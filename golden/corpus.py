"""The text behind the golden models: a small corpus, the inputs, and the tokenizers built from the corpus.

The library's WordPiece and Unigram trainers give other vocabularies on every run (hash order), so these two are
counted here; its byte-level BPE trainer is repeatable and is used as it is.
"""

import math
from collections import Counter

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = """
A warm and honest film with a quiet heart.
The story is slow at first, but the ending is worth the wait.
I laughed once, and then I looked at my watch for an hour.
The acting was terrible and the music was even worse.
What a wonderful surprise: funny, clever and full of life.
She plays the mother with great care and no tears at all.
This is not the worst film of the year, but it is close.
The jokes are old, the plot is thin and nobody seems to care.
I did not expect to like it, and I loved every minute.
Two friends drive across the country and learn nothing.
The camera moves slowly over the city while the rain is falling.
It was neither good nor bad; it was simply there.
A thrilling chase, a dull romance, and a very loud ending.
The children in the room were bored, and so was I.
Nothing in this movie makes sense, yet I kept watching.
He wrote the script in ten days and it shows.
An honest picture of a small town and the people who leave it.
The first half is charming; the second half is a long mistake.
My sister thought it was brilliant, my brother walked out.
The director knows how to film a face and how to wait.
Everything about the café scene felt naïve and forced.
You won't find a better performance this year.
The dialogue sounds like it was written by a machine.
If you enjoyed the book, don't miss the film.
There are moments of real beauty, and there are many of them.
The sound was poor and the picture was dark.
A boring, lifeless, endless film about a boring, lifeless man.
Who would have thought that a film about chess could be so moving?
It is a pity that the best actor has only three lines.
We left the theatre smiling and talked about it all night.
The costumes are lovely, the rest is forgettable.
In 1987 it might have worked; today it feels tired.
""".strip().splitlines()

# An ordinary one, one word, one with capitals, accents, emoji and punctuation, and a longer one.
TEXTS = [
    "A warm and honest film.",
    "Boring",
    "Ça va? The CAFÉ was “naïve” 😀, don't you agree!",
    "The first half is slow and the music is terrible, but the ending was worth it.",
]
PAIRS = [
    ["The acting was terrible.", "Nobody liked the film."],
    ["Boring", "Dull"],
    ["The CAFÉ 😀 felt “naïve”…", "Was IT?"],
    ["The children were bored, and so was I.", "The film was a boring one."],
]
QUESTIONS = [
    ["Who was bored?", "The children were bored."],
    ["Why?", "Boredom"],
    ["Où was IT?", "In the “théâtre” 😀, not the CAFÉ!"],
    ["How was the second half?", "The first half is charming; the second is a mistake."],
]
MASKED = [
    "The music was {mask} and slow.",
    "{mask}",
    "The CAFÉ {mask} was “naïve” 😀!",
    "The first half is slow and the {mask} was {mask} it.",
]


def wordpiece():
    """BERT's tokenizer, uncased; also that of DistilBERT and ELECTRA."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = count_words(line.lower() for line in CORPUS if line.isascii())
    alphabet = sorted({letter for line in CORPUS if line.isascii() for letter in line.lower()} - {" "})
    vocabulary = specials + alphabet + ["##" + letter for letter in alphabet if letter.isalnum()]
    vocabulary += [word for word, _ in best(words, 60)]
    vocabulary += ["##" + ending for ending, _ in best(count_endings(words), 30)]

    tokenizer = Tokenizer(models.WordPiece({piece: id for id, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = bert_template(tokenizer)
    tokenizer.add_special_tokens(specials)
    return tokenizer


def byte_level_bpe():
    """RoBERTa's tokenizer."""
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    return tokenizer


def xlm_roberta_unigram():
    """XLM-RoBERTa's tokenizer: cased, with NFKC in place of the real one's large table of character rules."""
    pieces = unigram_pieces(CORPUS)
    entries = [(special, 0.0) for special in ["<s>", "<pad>", "</s>", "<unk>"]] + pieces + [("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(entries, unk_id=3))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return finish_unigram(tokenizer, ["<s>", "<pad>", "</s>", "<unk>"], "<mask>")


def albert_unigram():
    """ALBERT's tokenizer: lower case and without accents."""
    specials = ["<pad>", "<unk>", "[CLS]", "[SEP]"]
    pieces = unigram_pieces([line.lower() for line in CORPUS if line.isascii()])
    tokenizer = Tokenizer(models.Unigram([(special, 0.0) for special in specials + ["[MASK]"]] + pieces, unk_id=1))
    quotes = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    tokenizer.normalizer = normalizers.Sequence(
        quotes + [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    tokenizer.post_processor = bert_template(tokenizer)
    return finish_unigram(tokenizer, specials, "[MASK]")


def finish_unigram(tokenizer, specials, mask):
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(specials)
    tokenizer.add_special_tokens([AddedToken(mask, lstrip=True, normalized=False)])
    return tokenizer


def bert_template(tokenizer):
    return processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(special, tokenizer.token_to_id(special)) for special in ["[CLS]", "[SEP]"]],
    )


def unigram_pieces(lines):
    """Every character, the commonest words and the commonest endings, with their log frequencies in nats."""
    words = count_words(lines)
    counts = Counter(letter for line in lines for letter in "▁" + line.replace(" ", "▁"))
    letters = sorted(counts)
    chosen = best(Counter({"▁" + word: count for word, count in words.items()}), 60) + best(count_endings(words), 30)
    counts.update(dict(chosen))
    total = sum(counts.values())
    return [(piece, round(math.log(counts[piece] / total), 4)) for piece in letters + [piece for piece, _ in chosen]]


def count_words(lines):
    """Words of two letters and more."""
    splitter = pre_tokenizers.BertPreTokenizer()
    return Counter(word for line in lines for word, _ in splitter.pre_tokenize_str(line) if len(word) > 1)


def count_endings(words):
    """The last two and three letters of longer words."""
    endings = Counter()
    for word, count in words.items():
        for length in (2, 3):
            if len(word) > length + 1:
                endings[word[-length:]] += count
    return endings


def best(counts, size):
    """The highest counts; ties in alphabetical order, so that the choice does not depend on the order of counting."""
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:size]
