pub fn check(candidate: &str) -> bool {
    todo!("Is {candidate} an isogram?");
}
