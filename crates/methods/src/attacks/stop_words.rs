//! English words that hold a sentence together. Words of negation and of degree are not among them: they change what a
//! sentence says.

/// Whether a word, in any case, is one of them.
pub(super) fn is_stop_word(word: &str) -> bool {
    let word = word.to_lowercase();
    STOP_WORDS.split_whitespace().any(|stop| stop == word)
}

const STOP_WORDS: &str = "
    a an the this that these those each every either another such other some any all both
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one ones who whom whose which what whoever whatever
    am is are was were be been being do does did doing done have has had having will would shall should can could may
    might must ought
    of in on at by for with about against between into through during before after above below to from up down out off
    over under again upon within toward towards across along among around behind beside near onto per via
    and or if then than as because while until since though although whether so where when why how there here
    also just now once s t d ll m re ve";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negation_is_no_stop_word() {
        assert!(is_stop_word("The") && is_stop_word("of"));
        assert!(!["not", "no", "never", "nor", "but", "very", "film"].into_iter().any(is_stop_word));
    }
}
