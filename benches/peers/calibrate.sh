#!/bin/sh
# The table of error rate and power in docs/evidence.md.
#
#     benches/peers/calibrate.sh DEV.tsv [MODEL] [TEXTS]
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
