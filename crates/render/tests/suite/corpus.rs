//! The page about many texts: what stands in it, what its policy allows, and that nothing of a text is markup there.

use super::hostile::reports;
use super::samples::{self, HOSTILE, attribution, failing_item, few_checks, report, rule, undecided};
use exegete_core::report::{Item, Report};
use exegete_core::sha256_hex;
use exegete_render::CorpusPage;
use proptest::prelude::*;
use std::collections::BTreeSet;

const SCRIPT: &str = include_str!("../../src/html/corpus.js");
const OPENS: &str = "<script type=\"text/plain\">";
const CLOSES: &str = "</script>";

fn page(reports: &[Report]) -> String {
    let mut page = CorpusPage::new();
    let rows: String = reports.iter().map(|report| page.row(report)).collect();
    rows + &page.end()
}

/// The whole explanations, which only the script reads, and the page without them and without its style.
fn parts(page: &str) -> (Vec<&str>, String) {
    let mut pieces = page.split(OPENS);
    let mut list = pieces.next().unwrap().to_owned();
    let mut explanations = Vec::new();
    for piece in pieces {
        let (explanation, rest) = piece.split_once(CLOSES).unwrap();
        explanations.push(explanation);
        list.push_str(rest);
    }
    let (head, rest) = list.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    (explanations, format!("{head}{body}"))
}

/// The SHA-256 of the standard's own example, and of the script by another road than the page takes.
fn hash(text: &str) -> String {
    let hex = sha256_hex(text.as_bytes());
    let bits: String = hex.chars().map(|digit| format!("{:04b}", digit.to_digit(16).unwrap())).collect();
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let bits = format!("{bits:0<258}");
    let six = |at: usize| letters[usize::from_str_radix(&bits[6 * at..6 * at + 6], 2).unwrap()];
    format!("sha256-{}=", (0..43).map(six).collect::<String>())
}

#[test]
fn the_policy_allows_the_script_and_nothing_else() {
    assert_eq!(hash("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    let page = page(&[report([failing_item()])]);
    let (_, list) = parts(&page);
    let (head, rest) = list.split_once("<script>").unwrap();
    let (script, after) = rest.split_once(CLOSES).unwrap();
    assert_eq!((script, after), (SCRIPT, "\n</body>\n</html>\n"));
    assert!(!head.contains("<script") && !SCRIPT.contains('\r'));
    let policy =
        head.split_once("Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; style-src 'unsafe-inline'; script-src '{}'; base-uri 'none'; form-action 'none'; \
             require-trusted-types-for 'script'; trusted-types 'none'",
            hash(SCRIPT)
        )
    );
    assert!(!policy.contains(&hash(&SCRIPT.replacen("strict", "loose", 1))));
}

/// Nothing in the script makes markup, a script or a request out of a string.
#[test]
fn the_script_makes_text_of_text() {
    let words = [
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "write(",
        "eval",
        "Function(",
        "fetch",
        "http:",
        "https:",
        "import",
        "on",
    ];
    let found = |script: &str| {
        let own = script.replace("\"http://www.w3.org/2000/svg\"", "");
        let found = words[..words.len() - 1].iter().filter(|word| own.contains(**word)).count();
        let set = script.lines().find(|line| line.contains("ATTRIBUTES = new Set")).unwrap();
        found + set.split(['"', ' ', '(']).filter(|word| word.starts_with("on") || *word == "href").count()
    };
    assert_eq!(found(SCRIPT), 0);
    for fault in ["element.innerHTML = part;", "fetch(\"x\");", "// const ATTRIBUTES = new Set(\"onclick\")"]
    {
        assert_ne!(found(&format!("{fault}\n{SCRIPT}")), 0, "{fault}");
    }
}

#[test]
fn a_row_says_what_filters_ask_for() {
    let unchecked = Item::Attribution(Box::new(attribution(&[("text", "so so")], &[], Default::default())));
    let clean = Item::Attribution(Box::new(attribution(&[("text", "so so")], &[], few_checks())));
    let page = page(&[
        report([failing_item()]),
        report([clean]),
        report([unchecked]),
        report([Item::Rule(Box::new(rule()))]),
        report([Item::Attribution(Box::new(attribution(&[("text", "so so")], &[], undecided())))]),
    ]);
    let (_, list) = parts(&page);
    let rows: Vec<&str> = list.split("<li ").skip(1).collect();
    let abouts: Vec<&str> = rows.iter().map(|row| row.split_once('>').unwrap().0).collect();
    assert!(
        abouts[0].starts_with("id=\"text-1\" data-label=\"negative\" data-confidence=\"0."),
        "{}",
        abouts[0]
    );
    assert!(
        abouts[0].contains(" data-failed=\"") && !abouts[0].contains(" data-failed=\"\""),
        "{}",
        abouts[0]
    );
    assert!(rows[0].contains("<span class=\"missed\">✗&nbsp;"), "{}", rows[0]);
    assert!(abouts[1].ends_with(" data-failed=\"\"") && !rows[1].contains("missed"), "{}", rows[1]);
    assert!(!abouts[2].contains("data-failed"), "{}", abouts[2]);
    assert!(rows[3].contains("<mark "), "{}", rows[3]);
    let undecided =
        |at: usize| (abouts[at].contains(" data-undecided"), rows[at].contains("?&nbsp;undecided"));
    assert_eq!([0, 1, 2, 3, 4].map(undecided), [false, false, false, false, true].map(|is| (is, is)));
    assert!(abouts[4].contains(" data-failed=\"\""), "undecided is no failure: {}", abouts[4]);
    assert!(list.contains("<p>5 texts</p>"));
    let legend = "class=\"legend\"";
    assert!(
        list.contains(legend)
            && !parts(&self::page(&[report([Item::Rule(Box::new(rule()))])])).1.contains(legend)
    );
}

/// A page without texts is whole too.
#[test]
fn no_texts_are_a_page() {
    let page = page(&[]);
    assert!(
        page.starts_with("<!doctype html>") && page.ends_with("</html>\n") && page.contains("<p>0 texts</p>")
    );
}

/// What the script would refuse to make is missed by nobody: every kind of element and attribute that any renderer writes is known.
#[test]
fn the_script_knows_every_element_and_attribute() {
    let reports: Vec<Report> = samples::named().into_iter().map(|(_, report)| report).collect();
    let page = page(&reports);
    let (explanations, _) = parts(&page);
    let (mut elements, mut attributes) = (BTreeSet::new(), BTreeSet::new());
    for tag in explanations.iter().flat_map(|markup| tags(markup)) {
        let mut words = tag.trim_end_matches('/').splitn(2, ' ');
        elements.insert(words.next().unwrap().trim_start_matches('/'));
        let quoted: Vec<&str> = words.next().unwrap_or_default().split('"').collect();
        attributes.extend(
            quoted
                .iter()
                .step_by(2)
                .map(|name| name.trim_matches([' ', '=']))
                .filter(|name| !name.is_empty()),
        );
    }
    assert!(elements.len() > 40 && attributes.len() > 15, "{elements:?} {attributes:?}");
    for (set, names) in [("ELEMENTS", elements), ("ATTRIBUTES", attributes)] {
        let known = known(set);
        let unknown: Vec<_> = names.difference(&known).collect();
        assert!(unknown.is_empty(), "corpus.js: {set} lacks {unknown:?}");
    }
}

/// The names in one of the script's sets.
fn known(set: &str) -> BTreeSet<&'static str> {
    let (_, list) = SCRIPT.split_once(&format!("const {set} = new Set((")).unwrap();
    let (list, _) = list.split_once(").split").unwrap();
    list.split(['"', ' ', '+', '\n']).collect()
}

fn tags(markup: &str) -> impl Iterator<Item = &str> {
    markup.split(['<', '>']).skip(1).step_by(2)
}

/// The script takes `<` and `>` for the ends of tags, which are closed in the order in which they were opened.
fn assert_readable(markup: &str) {
    let signs: String = markup.chars().filter(|c| matches!(c, '<' | '>')).collect();
    assert_eq!(signs, "<>".repeat(signs.len() / 2));
    let mut open = Vec::new();
    for tag in tags(markup) {
        let name = tag.split(' ').next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{markup}"),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

fn assert_safe(reports: &[Report]) {
    let page = page(reports);
    let (explanations, list) = parts(&page);
    assert_eq!(explanations.len(), reports.len());
    explanations.iter().for_each(|explanation| assert_readable(explanation));
    let (list, _) = list.split_once("<script>").unwrap();
    let mut ours = known("ELEMENTS");
    ours.extend(["!doctype", "html", "head", "meta", "body", "main", "footer", "noscript", "ol"]);
    ours.extend(["label", "input", "select", "option", "output"]);
    for tag in list.split('<').skip(1) {
        let name = tag.trim_start_matches('/').split([' ', '>', '/', '\n']).next().unwrap_or_default();
        assert!(ours.contains(name), "<{tag}");
    }
    let shown = page.replace(SCRIPT, "");
    let steers = |c: char| {
        (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}' | '\u{2067}')
    };
    assert!(!shown.chars().any(steers));
}

#[test]
fn hostile_texts_stay_texts() {
    for text in [
        HOSTILE,
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "\" onmouseover=\"alert(1)",
        "'><img src=x onerror=alert(1)>",
        "a\0b\u{1b}[31m\u{7f}\u{9b}\u{202e}evil\u{2066}",
        "]]>&lt;script&gt;",
    ] {
        let words = [(0, text, 1.0)];
        let mut item = attribution(&[("text", text), (text, text)], &words, few_checks());
        item.subject.target = text.to_owned();
        item.subject.notes = vec![text.to_owned()];
        if let Some(verdict) = &mut item.checks.verdict {
            verdict.failures = vec![text.to_owned()];
            verdict
                .findings
                .iter_mut()
                .for_each(|found| (found.check, found.passed) = (text.to_owned(), Some(false)));
        }
        let mut hostile = report([Item::Attribution(Box::new(item))]);
        hostile.provenance.model.name = text.to_owned();
        assert_safe(&[hostile.clone(), hostile]);
    }
    assert_safe(&samples::named().into_iter().map(|(_, report)| report).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn no_report_breaks_out_of_its_row(reports in prop::collection::vec(reports(), 0..3)) {
        assert_safe(&reports);
    }
}
