//! Every link of every document leads somewhere within the repository.

use crate::harness::root;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut documents = Vec::new();
    collect(&root(), &mut documents);
    let (mut links, mut faults) = (0, Vec::new());
    for path in &documents {
        let text = fs::read_to_string(path).unwrap();
        for link in links_of(&text) {
            links += 1;
            if let Some(fault) = fault(path, &text, &link) {
                faults.push(format!("{}: {link}: {fault}", path.display()));
            }
        }
    }
    assert!(documents.len() > 40 && links > 40, "{} documents, {links} links", documents.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn links_that_lead_nowhere_are_found() {
    let path = root().join("docs/here.md");
    let text = "# Here\n\n## How *fast*, and why?\n\n```\n[no](link.md)\n```\n`[no](link.md)` [a](#b) <img src=\"c.svg\">";
    assert_eq!(links_of(text), ["#b", "c.svg"]);
    for (link, told) in [
        ("#how-fast-and-why", None),
        ("../README.md", None),
        ("../README.md#two-commands", None),
        ("../docs", None),
        ("#b", Some("no such heading")),
        ("../README.md#nothing", Some("no such heading")),
        ("README.txt", Some("no such file")),
        ("https://example.org", Some("outside the repository")),
        ("../../elsewhere", Some("outside the repository")),
    ] {
        assert_eq!(fault(&path, text, link), told, "{link}");
    }
}

/// Every Markdown file below a folder, but for what is built or hidden.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
            collect(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// Where the links and pictures of a document lead. Code has none.
fn links_of(text: &str) -> Vec<String> {
    let prose = prose(text);
    let ends = [("](", ')'), ("src=\"", '"'), ("href=\"", '"')];
    let link = |(start, end): (&str, char)| {
        let after = prose.split(start).skip(1).filter_map(move |rest| rest.split_once(end));
        after.map(|(link, _)| link.to_owned()).collect::<Vec<_>>()
    };
    ends.into_iter().flat_map(link).collect()
}

/// What is not code: no fenced block, no indented line, nothing between backticks.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced && !line.starts_with("    ")
    });
    let whole = lines.collect::<Vec<_>>().join("\n");
    whole.split('`').step_by(2).collect()
}

/// What is wrong with a link of a document.
fn fault(document: &Path, text: &str, link: &str) -> Option<&'static str> {
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let outside = "outside the repository";
    if file.contains("://") {
        return Some(outside);
    }
    let found = match (file, document.parent()?.join(file).canonicalize()) {
        ("", _) => None,
        (_, Err(_)) if leaves(document, file) => return Some(outside),
        (_, Err(_)) => return Some("no such file"),
        (_, Ok(path)) if !path.starts_with(root().canonicalize().unwrap()) => return Some(outside),
        (_, Ok(path)) => Some(path),
    };
    let heading = heading?;
    let other = found.map(|path| fs::read_to_string(path).unwrap_or_default());
    let known = headings(other.as_deref().unwrap_or(text)).any(|known| known == heading);
    (!known).then_some("no such heading")
}

/// Whether a path goes further up than the repository reaches.
fn leaves(document: &Path, file: &str) -> bool {
    let depth = document.strip_prefix(root()).map_or(0, |inner| inner.components().count() - 1);
    file.matches("../").count() > depth
}

/// The headings of a document as links spell them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let mut fenced = false;
    let lines = text.lines().filter(move |line| {
        fenced ^= line.starts_with("```");
        !fenced && line.starts_with('#')
    });
    lines.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}
