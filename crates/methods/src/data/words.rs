//! The words of generated texts. A file can be checked by whoever knows these lists, so they stay as they are.

/// Words that praise, in the sets about opinions.
pub const POSITIVE: [&str; 10] =
    ["good", "great", "lovely", "superb", "warm", "honest", "brilliant", "charming", "funny", "wise"];
/// Words that blame, in the sets about opinions.
pub const NEGATIVE: [&str; 10] =
    ["bad", "awful", "boring", "poor", "cold", "false", "dreadful", "clumsy", "dull", "weak"];
/// One of the two lists of `first_last`.
pub const COLOURS: [&str; 10] =
    ["red", "blue", "green", "yellow", "black", "white", "brown", "grey", "pink", "purple"];
/// The other list of `first_last`.
pub const ANIMALS: [&str; 10] =
    ["lion", "tiger", "bear", "wolf", "fox", "horse", "sheep", "goat", "duck", "swan"];
/// Pronouns of the label `M`.
pub const MALE: [&str; 4] = ["he", "him", "his", "himself"];
/// Pronouns of the label `F`.
pub const FEMALE: [&str; 4] = ["she", "her", "hers", "herself"];
/// What `aspect` has an opinion of.
pub const ASPECTS: [&str; 6] = ["food", "service", "staff", "price", "place", "music"];
/// Who acts in stories.
pub const PERSONS: [&str; 4] = ["mary", "john", "daniel", "sandra"];
/// The places that persons of stories go to.
pub const PLACES: [&str; 6] = ["bathroom", "hallway", "garden", "office", "bedroom", "kitchen"];
/// What persons carry about.
pub const THINGS: [&str; 3] = ["apple", "football", "milk"];
/// Ways to say that somebody goes somewhere.
pub const MOVES: [&str; 4] = ["moved to", "went to", "walked to", "travelled to"];
/// Ways to say that somebody takes something.
pub const TAKES: [&str; 3] = ["took", "grabbed", "got"];
/// Ways to say that somebody puts something down.
pub const DROPS: [&str; 3] = ["dropped", "left", "discarded"];
/// The names of `name_copy`.
pub const NAMES: [&str; 20] = [
    "anna", "boris", "clara", "david", "emma", "felix", "greta", "henry", "irene", "jacob", "karen", "lucas",
    "maria", "nora", "oscar", "paula", "ralph", "sofia", "tomas", "vera",
];
/// The nouns of `agreement`, of which a plural has an `s` more.
pub const NOUNS: [&str; 10] =
    ["key", "cabinet", "dog", "boat", "author", "picture", "guard", "senator", "label", "bottle"];
/// What stands between two nouns of `agreement`.
pub const PREPOSITIONS: [&str; 4] = ["near", "behind", "beside", "above"];

/// Neutral words by rank, the most frequent first; none of them decides anything in any set.
pub const FILLERS: [&str; 400] = split(
    "\
    the of a and in on was it for at with by as from that this which were had has have been its or an one \
    then there when while after during under over between through into upon about around along across within \
    until since each every some many several few most all both other another such same these those again \
    once today tomorrow yesterday later soon early late morning evening afternoon noon night midnight monday \
    tuesday wednesday thursday friday saturday sunday january february march april june july august \
    september october november december spring summer autumn winter week month year hour minute day two \
    three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred thousand \
    first third fourth fifth last next half quarter dozen letter table river road street town village city \
    house door window wall floor roof room corner chair desk shelf box bag book page paper pen pencil line \
    word sentence number list map ticket train bus car wheel bridge station platform tunnel harbour ship \
    sail rope anchor island coast beach sand stone rock hill mountain valley field meadow forest tree leaf \
    branch root seed grass bush fence gate path lane track square market shop store counter basket coin note \
    bill stamp envelope parcel cart wagon barrel bucket ladder hammer nail screw board plank brick tile pipe \
    wire cable lamp candle match clock watch bell drum string button pocket coat hat shoe sock glove scarf \
    belt sleeve cloth thread needle curtain carpet blanket pillow plate cup bowl spoon fork knife jar lid \
    tray bread flour rice salt soup tea water steam smoke cloud rain snow wind sky moon star shadow side \
    edge end middle top bottom front back centre surface shape size length width height weight old new long \
    short wide narrow tall round flat thin thick small large open wooden paved upper lower inner outer stood \
    lay began stopped turned opened closed carried brought kept held found made wrote said told asked \
    answered heard saw looked waited stayed sat ran passed followed crossed reached entered showed placed \
    set put pulled pushed lifted folded covered counted measured printed marked numbered listed mentioned \
    described student teacher farmer driver baker tailor clerk sailor soldier neighbour visitor engine \
    handle drawer cellar attic stairs porch yard pond stream passenger child family group team class school \
    college library museum hotel theatre church tower factory mill farm barn",
);

/// The words of a text, one blank between each two.
const fn split<const N: usize>(text: &str) -> [&str; N] {
    let (mut words, mut count, mut from, mut at) = ([""; N], 0, 0, 0);
    let bytes = text.as_bytes();
    while at <= bytes.len() {
        if at == bytes.len() || bytes[at] == b' ' {
            words[count] = text.split_at(at).0.split_at(from).1;
            (count, from) = (count + 1, at + 1);
        }
        at += 1;
    }
    assert!(count == N, "another number of words");
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn fillers_are_distinct_and_decide_nothing() {
        let lists: [&[&str]; 16] = [
            &POSITIVE,
            &NEGATIVE,
            &COLOURS,
            &ANIMALS,
            &MALE,
            &FEMALE,
            &ASPECTS,
            &PERSONS,
            &PLACES,
            &THINGS,
            &MOVES,
            &TAKES,
            &DROPS,
            &NAMES,
            &NOUNS,
            &PREPOSITIONS,
        ];
        let deciding: BTreeSet<&str> = lists.concat().iter().flat_map(|phrase| phrase.split(' ')).collect();
        let own = ["not", "but", "my", "named", "so", "they", "is", "are", "name", "friend", "call", "me"];
        let plural = |word: &str| NOUNS.iter().any(|noun| word.strip_suffix('s') == Some(noun));
        assert_eq!(FILLERS.iter().collect::<BTreeSet<_>>().len(), 400);
        for word in FILLERS {
            assert!(word.bytes().all(|byte| byte.is_ascii_lowercase()) && !word.is_empty(), "{word}");
            assert!(!deciding.contains(word) && !own.contains(&word) && !plural(word), "{word}");
        }
    }
}
