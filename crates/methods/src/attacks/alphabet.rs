//! Which script a word is written in, as far as replacements must not mix scripts.

/// A script, or a group of scripts that are written together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Latin,
    Greek,
    Cyrillic,
    Hebrew,
    Arabic,
    Indic,
    Thai,
    /// Han, kana and hangul: one letter can be a word.
    EastAsian,
    Other,
}

impl Alphabet {
    /// The one script of a word; none where it holds anything but letters, or letters of several scripts.
    pub(super) fn of(word: &str) -> Option<Self> {
        let mut scripts = word.chars().map(|letter| letter.is_alphabetic().then(|| script(letter)));
        let first = scripts.next()??;
        scripts.all(|script| script == Some(first)).then_some(first)
    }

    /// The fewest letters of a word: vocabularies hold every single letter, which is rarely a word.
    pub(super) fn shortest(self) -> usize {
        if self == Self::EastAsian { 1 } else { 2 }
    }
}

fn script(letter: char) -> Alphabet {
    match u32::from(letter) {
        0x41..=0x24f | 0x1e00..=0x1eff => Alphabet::Latin,
        0x370..=0x3ff | 0x1f00..=0x1fff => Alphabet::Greek,
        0x400..=0x52f => Alphabet::Cyrillic,
        0x590..=0x5ff => Alphabet::Hebrew,
        0x600..=0x77f => Alphabet::Arabic,
        0x900..=0xdff => Alphabet::Indic,
        0xe00..=0xe7f => Alphabet::Thai,
        0x1100..=0x11ff | 0x2e80..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff => Alphabet::EastAsian,
        _ => Alphabet::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_one_script_and_nothing_but_letters() {
        let check =
            |word: &str, expected: Option<Alphabet>| assert_eq!(Alphabet::of(word), expected, "{word}");
        check("film", Some(Alphabet::Latin));
        check("naïve", Some(Alphabet::Latin));
        check("фильм", Some(Alphabet::Cyrillic));
        check("映画", Some(Alphabet::EastAsian));
        check("fiлm", None);
        check("[PAD]", None);
        check("##ing", None);
        check("don't", None);
        check("3d", None);
        check("", None);
    }
}
