//! Rows that were worked out by hand.

use crate::reader::expected;

#[test]
fn the_reader_reads_rows_that_were_worked_out_by_hand() {
    let story = "john went to the office . john took the milk . mary went to the garden . john moved to the kitchen .";
    for (set, fields, answer) in [
        ("keyword", &["sunday river a superb letter on the old table again"][..], ["positive", "15-21"]),
        ("negation", &["the letter was not brilliant on the old table again"], ["negative", "15-18 19-28"]),
        ("negation", &["not the letter was brilliant on the old table again"], ["positive", "19-28"]),
        ("conflict", &["the honest letter was old but the table dreadful again"], ["negative", "40-48"]),
        ("first_last", &["red letter on the wolf table again pink old lion"], ["different", "0-3 44-48"]),
        ("first_last", &["red letter on the wolf table again lion old pink"], ["same", "0-3 44-48"]),
        ("pronoun", &["the letter was on her table again"], ["F", "18-21"]),
        ("aspect", &["the place was very warm and the music was poor", "music"], ["negative", "0:42-46"]),
        ("aspect", &["the place was very warm and the music was poor", "place"], ["positive", "0:19-23"]),
        (
            "babi1",
            &[
                "john went to the kitchen . john moved to the hallway . mary went to the office .",
                "where is john",
            ],
            ["hallway", "0:27-52"],
        ),
        ("babi2", &[story, "where is the milk"], ["kitchen", "0:26-44 0:73-98"]),
        ("babi3", &[story, "where was the milk before the kitchen"], ["office", "0:0-23 0:26-44 0:73-98"]),
        ("bigram_flip", &["w73 w69 w45 w04"], ["w69 w73 w04 w45", "0-1 1-0 2-3 3-2"]),
        ("reverse", &["w10 w54 w72"], ["w72 w54 w10", "0-2 1-1 2-0"]),
        ("copy", &["w10 w54 w72"], ["w10 w54 w72", "0-0 1-1 2-2"]),
        ("brackets", &["( [ ] ) [ ]"], ["1", ""]),
        ("brackets", &["( [ ) ) [ ]"], ["0", "2-3 4-5"]),
        (
            "name_copy",
            &["old table my name is boris on again a friend named tomas the letter so they call me"],
            ["boris", "21-26"],
        ),
        ("key_value", &["k12 v04 k03 v11 k07 v00 ? k03 v11 k07 v00 k03 v11 k12"], ["v04", "0-3 4-7"]),
        ("agreement", &["the keys near the cabinet"], ["are", "4-8"]),
    ] {
        assert_eq!(expected(set, fields).unwrap(), answer, "{set} {fields:?}");
    }
}

/// Texts that no rule of their set makes.
#[test]
fn the_reader_refuses_what_breaks_a_rule() {
    for (set, fields) in [
        ("keyword", &["sunday river a superb letter on the old table poor"][..]),
        ("keyword", &["sunday river a letter on the old table again and"]),
        ("keyword", &["sunday river a superb letter on the old table zebra"]),
        ("keyword", &["sunday a superb letter"]),
        ("negation", &["not the letter was not brilliant on the old table"]),
        ("conflict", &["the honest dreadful letter was old but the table again"]),
        ("first_last", &["red letter on the wolf table again the old lion"]),
        ("pronoun", &["the letter was on her table his"]),
        ("aspect", &["the place was very warm and the place was poor", "place"]),
        ("aspect", &["the place was very warm and the music was poor", "food"]),
        ("babi1", &["john went to the kitchen . john moved to the kitchen .", "where is john"]),
        ("babi1", &["john went to the kitchen . john moved to the hallway .", "where is mary"]),
        (
            "babi2",
            &[
                "john went to the office . mary went to the garden . john took the milk . mary took the milk .",
                "where is the milk",
            ],
        ),
        (
            "babi2",
            &[
                "john went to the office . mary went to the garden . john took the milk . john left the milk .",
                "where is the milk",
            ],
        ),
        (
            "babi3",
            &["john went to the office . john took the milk .", "where was the milk before the office"],
        ),
        ("bigram_flip", &["w73 w69 w45"]),
        ("brackets", &["( [ ) ) [ )"]),
        ("brackets", &["( [ ] ) ["]),
        (
            "name_copy",
            &["old table my name is boris on again a friend named boris the letter so they call me"],
        ),
        ("key_value", &["k12 v04 k03 v11 ? k03 v11 k12 v04 k12"]),
        ("key_value", &["k12 v04 k03 v11 ? k03 v10 k12"]),
        ("agreement", &["the keys near the cabinetes"]),
    ] {
        let read = expected(set, fields);
        assert!(read.is_err(), "{set} {fields:?}: {read:?}");
    }
}
