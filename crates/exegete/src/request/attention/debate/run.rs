//! A checked request: rows in, trained models and their experiments out.

use super::generated::GeneratedRows;
use super::models::{DebatedModel, ModelChoice, ModelFolder};
use super::{AttentionDebateRequest, DebatedKind};
use crate::Example;
use crate::report::{RecordedFile, Report};
use crate::request::input::TextReader;
use crate::request::{Listener, Notice, RunIdentity, Stop, TextInput, check_stop, record};
use crate::small::WordVocabulary;
use crate::task::CLASSIFICATION;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A request that was checked.
pub struct AttentionDebate<'a> {
    pub(super) request: &'a AttentionDebateRequest,
    pub(super) kinds: Vec<DebatedKind>,
    pub(super) generated: Option<GeneratedRows>,
    pub(super) recorded: Vec<RecordedFile>,
    pub(super) started: Instant,
}

/// Trains every model, runs every experiment and says what it comes to; nothing is left behind.
pub fn run(request: &AttentionDebateRequest, stop: &Stop, tell: Listener<'_>) -> Result<Report> {
    let debate = open(request)?;
    let folder = WorkFolder::new()?;
    let models = debate.find(&folder.0, Vec::new(), stop, tell, &mut |_| Ok(()))?;
    debate.report(&folder.0, &models, stop, tell)
}

/// Checks the request and the texts that it tests.
pub fn open(request: &AttentionDebateRequest) -> Result<AttentionDebate<'_>> {
    request.check()?;
    let kinds = request.kinds()?;
    let generated =
        request.generates().then(|| GeneratedRows::new(request.rows, request.seed)).transpose()?;
    check_texts(request)?;
    let recorded = record::files(&request.named_files())?;
    Ok(AttentionDebate { request, kinds, generated, recorded, started: Instant::now() })
}

impl AttentionDebate<'_> {
    /// The models that are tested, in their order.
    pub fn names(&self) -> Vec<String> {
        self.choices().map(|choice| format!("{}, seed {}", choice.kind, choice.seed)).collect()
    }

    /// What a run that goes on must have in common with the one that it goes on with.
    pub fn identity(&self) -> Result<RunIdentity> {
        self.request.identity()
    }

    /// What was found about every model, after what an earlier run found; the sink gets each as it is done. Models are
    /// trained in a folder, where those of an earlier run are used again.
    pub fn find(
        &self,
        folder: &Path,
        mut found: Vec<DebatedModel>,
        stop: &Stop,
        tell: Listener<'_>,
        sink: &mut dyn FnMut(&DebatedModel) -> Result<()>,
    ) -> Result<Vec<DebatedModel>> {
        let models = self.models(folder)?;
        if !found.is_empty() {
            tell(Notice::Note(&format!("going on after {} finished models", found.len())));
        }
        let all = self.names();
        for choice in self.choices().skip(found.len()) {
            check_stop(stop)?;
            tell(Notice::Texts(found.len(), all.len()));
            tell(Notice::Stage(&all[found.len()]));
            let first = choice.seed == self.request.seed;
            let model = models.find(choice, stop, &mut |notice| quieter(notice, first, tell))?;
            sink(&model)?;
            found.push(model);
        }
        Ok(found)
    }

    pub(super) fn choices(&self) -> impl Iterator<Item = ModelChoice<'_>> {
        let of = move |kind| self.seeds().map(move |seed| ModelChoice { kind, seed });
        self.kinds.iter().flat_map(of)
    }

    pub(super) fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.request.seed;
        (0..self.request.seeds as u64).map(move |i| first + i)
    }

    /// Where models are trained, with the rows that they learn from.
    pub(super) fn models<'a>(&'a self, folder: &'a Path) -> Result<ModelFolder<'a>> {
        let cannot = || format!("{}: cannot be made", folder.display());
        fs::create_dir_all(folder).with_context(cannot)?;
        let [train, dev] = match (&self.generated, &self.request.train, &self.request.dev) {
            (Some(rows), ..) => rows.write(folder)?,
            (None, Some(train), Some(dev)) => [train.clone(), dev.clone()],
            _ => bail!("there are no rows; give --train and --dev"),
        };
        Ok(ModelFolder { request: self.request, folder, train, dev })
    }
}

/// What is told about the first model of a kind is not told again about the others. How far a model is says nothing about the run.
fn quieter(notice: Notice<'_>, first: bool, tell: Listener<'_>) {
    match notice {
        Notice::Note(_) | Notice::Warning(_) if !first => {}
        Notice::Texts(..) | Notice::Stage(_) | Notice::Training(_) => {}
        notice => tell(notice),
    }
}

/// Texts that are too short for any experiment are told before anything is trained.
fn check_texts(request: &AttentionDebateRequest) -> Result<()> {
    let Some(dev) = &request.dev else { return Ok(()) };
    let texts = TextInput {
        input: Some(dev.clone()),
        text_column: request.text_column.clone(),
        pair_column: request.pair_column.clone(),
        no_header: request.no_header,
        delimiter: request.delimiter.clone(),
        ..TextInput::default()
    };
    let mut source = TextReader::open(&texts, &CLASSIFICATION)?;
    let (mut read, mut longest) = (0, 0);
    let none = WordVocabulary::of(&[], true, 1);
    while let Some(example) = source.read()? {
        let first = Example::text(example.fields.first().map_or("", |field| &field.text));
        longest = longest.max(none.unknown_share(&first, true).1);
        read += 1;
    }
    let (name, least) = (source.name(), request.min_words.max(2));
    if read == 0 {
        bail!("{name}: holds no rows");
    }
    if longest < least {
        bail!(
            "{name}: no text can be tested: none of {read} has {least} words; lower --min-words, or give longer texts"
        );
    }
    Ok(())
}

/// A folder of this process, which goes when it is dropped.
pub struct WorkFolder(pub PathBuf);

impl WorkFolder {
    /// A new one among the system's temporary files.
    pub fn new() -> Result<Self> {
        let path = |number: usize| {
            std::env::temp_dir().join(format!("exegete-debate-{}-{number}", std::process::id()))
        };
        // One process may run several debates at once.
        let made = (0..).map(path).find_map(|path| match fs::create_dir(&path) {
            Ok(()) => Some(Ok(Self(path))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
            Err(error) => Some(Err(error).with_context(|| format!("{}: cannot be made", path.display()))),
        });
        made.unwrap_or_else(|| bail!("there is no name for a temporary folder"))
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}
