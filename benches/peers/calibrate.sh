#!/bin/sh
# The table of error rate and power in docs/evidence.md.
#
#     benches/peers/calibrate.sh DEV.tsv [MODEL] [TEXTS]
#
# A MODEL of one's own is a folder that `exegete train` wrote, such as
#
#     exegete train --train TRAIN.tsv --dev DEV.tsv --model MINILM --text-column content --rate 5e-5 -o MODEL
#
# 500 texts took about 30 minutes on one thread where the model has six layers of 384, beside other work.
#
# DEV.tsv has a header with a column `sentence`, `text` or `content`; texts of 5 to 40 words are taken, in their order.
set -eu
input=$1
model=${2:-}
texts=${3:-500}
chosen=$(mktemp -d)
trap 'rm -rf "$chosen"' EXIT
awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "sentence" || $i == "text" || $i == "content") at = i; print; next }
    { n = split($at, words, /[^[:alnum:]'"'"'-]+/); if (n >= 5 && n <= 40) print }' "$input" |
    head -n "$((texts + 1))" > "$chosen/texts.tsv"
exegete eval --input "$chosen/texts.tsv" ${model:+--model "$model"} \
    --methods integrated_gradients,lime,partition_shap,leave_one_out --calibrate
