/// Determine whether a sentence is a pangram.
pub fn is_pangram(sentence: &str) -> bool {
    todo!("Is {sentence} a pangram?");
}
