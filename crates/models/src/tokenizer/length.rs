//! How many tokens of each text are kept.

use exegete_core::{Error, Result};

/// Which text of a pair gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The longer one first.
    Longest,
    /// The context of a question: a question with its end missing is another question.
    Second,
}

impl Cut {
    /// The kept lengths, at most `room` together and at least 1 each.
    pub(super) fn lengths(self, lengths: &[usize], room: usize) -> Result<Vec<usize>> {
        let &[first, second] = lengths else {
            return Ok(lengths.iter().map(|&n| n.min(room)).collect());
        };
        if first + second <= room {
            return Ok(vec![first, second]);
        }
        match self {
            Self::Second if first < room => Ok(vec![first, room - first]),
            Self::Second => Err(Error::Input(format!(
                "the question alone has {first} tokens and the model reads {room} of question and context; shorten it"
            ))),
            Self::Longest => Ok(longest_first(first, second, room)),
        }
    }
}

/// The longer text shrinks to the shorter one's length before both shrink; of an odd room the longer keeps one more.
fn longest_first(first: usize, second: usize, room: usize) -> Vec<usize> {
    let short = first.min(second).min(room / 2);
    let long = room - short;
    if first <= second { vec![short, long] } else { vec![long, short] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_text_gives_way() {
        let check = |lengths: &[usize], room, expected: &[usize]| {
            assert_eq!(Cut::Longest.lengths(lengths, room).unwrap(), expected, "{lengths:?} into {room}");
        };
        check(&[5], 5, &[5]);
        check(&[9], 5, &[5]);
        check(&[2, 3], 5, &[2, 3]);
        check(&[2, 9], 5, &[2, 3]);
        check(&[9, 2], 5, &[3, 2]);
        check(&[9, 9], 5, &[2, 3]);
        check(&[9, 8], 5, &[3, 2]);
        check(&[9, 9], 2, &[1, 1]);
    }

    #[test]
    fn a_question_is_never_cut() {
        assert_eq!(Cut::Second.lengths(&[2, 9], 5).unwrap(), [2, 3]);
        assert_eq!(Cut::Second.lengths(&[4, 1], 5).unwrap(), [4, 1]);
        let error = Cut::Second.lengths(&[5, 9], 5).unwrap_err().to_string();
        assert!(error.contains("question alone has 5 tokens"), "{error}");
    }
}
