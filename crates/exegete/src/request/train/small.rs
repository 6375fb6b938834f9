//! Small models that are trained from nothing: their flags, their config, their vocabulary.

use super::TrainRequest;
use super::rows::{Labelled, Rows};
use crate::Example;
use crate::request::{Listener, Notice, Resources};
use crate::small::{KINDS, SmallConfig, SmallStart, WordVectors, WordVocabulary};
use crate::train::{Recipe, Start};
use anyhow::{Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// What a small model is, where one is trained in the place of a folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default)]
pub struct SmallRequest {
    /// Train a small model over the words of the training rows: none, average, cnn, rnn, gru and lstm with attention, kim, flan, atae, han; seq2seq writes the column target from the column source.
    #[arg(long, value_name = "KIND", value_parser = KINDS, hide_possible_values = true, conflicts_with_all = ["model", "from_scratch"])]
    pub kind: Option<String>,
    /// What it answers: classify, or entity_qa, where the answer is a word of the text and the second text asks [default: classify].
    #[arg(long, value_name = "TASK", value_parser = ["classify", "entity_qa"], hide_possible_values = true)]
    pub task: Option<String>,
    /// What encodes words in flan and han: gru, conv or none [default: gru].
    #[arg(long, value_name = "E")]
    pub encoder: Option<String>,
    /// How states become one vector: additive, dot, uniform, none, or imposed by --weights; in seq2seq bahdanau, luong, uniform or none [default: additive; seq2seq bahdanau].
    #[arg(long, value_name = "A")]
    pub attention: Option<String>,
    /// The attention of each word, for --attention imposed: a JSON list of numbers a line, for the training rows and then the dev rows.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Directions that a recurrent layer reads in, 1 or 2 [default: 2].
    #[arg(long, value_name = "N")]
    pub directions: Option<usize>,
    /// Recurrent layers one above the other [default: 1].
    #[arg(long, value_name = "N")]
    pub layers: Option<usize>,
    /// The width of word vectors [default: that of --vectors, else 300; flan and han 200; seq2seq 64; entity_qa 50].
    #[arg(long, value_name = "N")]
    pub embedding: Option<usize>,
    /// The width of a state in one direction [default: 128; atae 300; flan and han 50; entity_qa 32].
    #[arg(long, value_name = "N")]
    pub hidden: Option<usize>,
    /// The width inside additive attention [default: half a state's; flan, atae and han all of it; seq2seq the decoder's].
    #[arg(long, value_name = "N")]
    pub attention_hidden: Option<usize>,
    /// Word vectors to start from, as GloVe and word2vec write them: a word and its numbers a line [default: random].
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// Leave word vectors as they start.
    #[arg(long)]
    pub freeze_vectors: bool,
    /// Words that occur less often in the training rows are unknown [default: 1].
    #[arg(long, value_name = "N")]
    pub min_count: Option<usize>,
    /// Whether words are lower-cased: yes or no [default: yes].
    #[arg(long, value_name = "yes|no", value_parser = super::choices::yes_or_no)]
    pub lowercase: Option<bool>,
}

/// What messages call the config that flags make.
const PLACE: &str = "small model";

impl SmallRequest {
    fn asks(&self) -> bool {
        self.task.as_deref() == Some("entity_qa")
    }

    /// Whether it writes a text and does not choose a class.
    pub(super) fn writes(&self) -> bool {
        self.kind.as_deref() == Some("seq2seq")
    }

    /// Whose training defaults apply.
    pub(super) fn recipe(&self, request: &TrainRequest) -> Recipe {
        match self.kind.as_deref() {
            None => Recipe::Transformer,
            Some("flan") => Recipe::Flan,
            Some("han") => Recipe::Han,
            Some("kim") => Recipe::Kim,
            Some("seq2seq") => Recipe::Seq2seq,
            Some(_) if self.asks() => Recipe::EntityQa,
            Some(_) if request.pair_column.is_some() => Recipe::Pairs,
            Some(_) => Recipe::Small,
        }
    }

    /// Flags that describe a small model where none is trained.
    pub(super) fn refuse_unused(&self, request: &TrainRequest) -> Result<()> {
        if self.kind.is_none() {
            let given = Self { kind: None, ..self.clone() };
            if given == Self::default() {
                return Ok(());
            }
            bail!(
                "--task, --encoder, --attention, --weights, --directions, --layers, --embedding, --hidden, --attention-hidden, --vectors, --freeze-vectors, --min-count and --lowercase describe a small model; give --kind too"
            );
        }
        if request.model.is_some() {
            bail!("--kind trains a new model; leave out --model");
        }
        if self.writes() && self.task.is_some() {
            bail!("--kind seq2seq writes a text; leave out --task");
        }
        if self.weights.is_some() != (self.attention.as_deref() == Some("imposed")) {
            bail!("--attention imposed and --weights FILE belong together");
        }
        self.refuse_unread()?;
        if self.asks() && request.pair_column.is_none() {
            bail!("--task entity_qa needs the column of the question; give --pair-column");
        }
        if self.kind.as_deref() == Some("atae") && request.pair_column.is_none() {
            bail!("--kind atae needs the column of the aspect; give --pair-column");
        }
        Ok(())
    }

    /// Flags that say nothing to this kind of model.
    fn refuse_unread(&self) -> Result<()> {
        let additive = self.attention.as_deref().is_none_or(|how| ["additive", "bahdanau"].contains(&how));
        let additive = additive && self.kind.as_deref() != Some("kim");
        let given = [
            ("--directions", self.directions, self.is_recurrent(), "recurrent layers"),
            ("--hidden", self.hidden, self.reads_hidden(), "recurrent layers or --kind average"),
            ("--attention-hidden", self.attention_hidden, additive, "--attention additive or bahdanau"),
        ];
        match given.iter().find(|(_, given, read, _)| given.is_some() && !read) {
            Some((flag, _, _, what)) => {
                bail!("{flag} is for models with {what}, and this one has none; leave it out")
            }
            None => Ok(()),
        }
    }

    fn is_recurrent(&self) -> bool {
        match self.kind.as_deref() {
            Some("flan" | "han") => self.encoder.as_deref().is_none_or(|encoder| encoder == "gru"),
            kind => kind.is_some_and(|kind| ["rnn", "gru", "lstm", "atae", "seq2seq"].contains(&kind)),
        }
    }

    /// Whether the width of a state is one that can be chosen.
    pub(crate) fn reads_hidden(&self) -> bool {
        self.is_recurrent() || self.kind.as_deref() == Some("average")
    }

    /// The model at its start, its vocabulary taken from the rows to learn from.
    pub(super) fn start(
        &self,
        request: &TrainRequest,
        rows: &Rows,
        tell: Listener<'_>,
    ) -> Result<Option<Start>> {
        let Some(kind) = &self.kind else { return Ok(None) };
        let lowercase = self.lowercase.unwrap_or(true);
        let min_count = self.min_count.unwrap_or(1);
        let texts = |field: usize| fields_of(&rows.train, self.writes().then_some(field));
        let vocabulary = WordVocabulary::of(&texts(0), lowercase, min_count);
        let vectors = self.vectors.as_deref().map(|path| WordVectors::read(path, &vocabulary)).transpose()?;
        let config = self.config(kind, request, rows, vectors.as_ref())?;
        let written =
            if self.writes() { WordVocabulary::of(&texts(1), lowercase, min_count).len() } else { 0 };
        Resources::check_training(config.parameters(vocabulary.len(), written))?;
        let found =
            vectors.as_ref().map_or_else(String::new, |v| format!(", {} of them with a vector", v.found()));
        let mut say = |of: &str, field: usize, words: &WordVocabulary, found: &str| {
            let unknown = |rows: &[Labelled]| {
                let texts = fields_of(rows, self.writes().then_some(field));
                let (mut unknown, mut all) = (0.0, 0.0);
                for text in &texts {
                    let (share, count) = words.unknown_share(text, lowercase);
                    (unknown, all) = (unknown + share * count as f64, all + count as f64);
                }
                format!("{:.1} %", 100.0 * unknown / f64::max(all, 1.0))
            };
            let dev =
                if rows.dev.is_empty() { String::new() } else { format!(", {} of dev", unknown(&rows.dev)) };
            tell(Notice::Note(&format!(
                "{of}vocabulary of {} words{found}; unknown are {} of the training words{dev}",
                words.len(),
                unknown(&rows.train)
            )));
        };
        if !self.writes() {
            say("", 0, &vocabulary, &found);
            return Ok(Some(Start::Small(Box::new(SmallStart::new(config, vocabulary, vectors)?))));
        }
        say("source: ", 0, &vocabulary, &found);
        let target = WordVocabulary::of(&texts(1), lowercase, min_count);
        say("target: ", 1, &target, "");
        Ok(Some(Start::Small(Box::new(SmallStart::writing(config, vocabulary, target, vectors)?))))
    }

    /// The config that the flags describe, with every default filled in.
    fn config(
        &self,
        kind: &str,
        request: &TrainRequest,
        rows: &Rows,
        vectors: Option<&WordVectors>,
    ) -> Result<SmallConfig> {
        if let (Some(asked), Some(vectors)) = (self.embedding.filter(|_| self.vectors.is_some()), vectors)
            && asked != vectors.width
        {
            bail!("--embedding {asked}, but the vectors of --vectors have {} numbers", vectors.width);
        }
        let head = match (self.asks(), request.pair_column.is_some()) {
            _ if self.writes() => "sequence",
            (true, _) => "entity_qa",
            (false, true) => "pair",
            (false, false) => "text",
        };
        let small = |size: usize| self.asks().then_some(size);
        let optional = [
            ("encoder", self.encoder.as_ref().map(|name| json!(name))),
            ("attention", self.attention.as_ref().map(|name| json!(name))),
            ("directions", self.directions.map(|n| json!(n))),
            ("layers", self.layers.map(|n| json!(n))),
            ("embedding", vectors.map(|v| v.width).or(self.embedding).or(small(50)).map(|n| json!(n))),
            ("hidden", self.hidden.or(small(32)).map(|n| json!(n))),
            ("attention_hidden", self.attention_hidden.map(|n| json!(n))),
            ("lowercase", self.lowercase.map(|yes| json!(yes))),
        ];
        let mut fields = Map::from_iter([
            ("kind".to_owned(), json!(kind)),
            ("head".to_owned(), json!(head)),
            ("labels".to_owned(), json!(rows.labels)),
        ]);
        fields.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        let asked = SmallConfig::parse(PLACE, Value::Object(fields).to_string())?;
        Ok(SmallConfig::parse(PLACE, asked.complete())?)
    }
}

/// The texts of some rows: whole, or one of their fields, which has words of its own.
fn fields_of(rows: &[Labelled], field: Option<usize>) -> Vec<Example> {
    let text = |row: &Labelled| match field {
        None => row.example.clone(),
        Some(field) => Example::text(row.example.fields.get(field).map_or("", |field| &field.text)),
    };
    rows.iter().map(text).collect()
}
