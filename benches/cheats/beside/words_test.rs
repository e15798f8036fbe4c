#[path = "../src/words.rs"]
mod words;

use words::initials;

#[test]
fn initials_of_two_words() {
    assert_eq!(initials("red house"), "RH");
}

#[test]
fn initials_of_nothing() {
    assert_eq!(initials(""), "");
}
