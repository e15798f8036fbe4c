pub fn series(digits: &str, len: usize) -> Vec<String> {
    todo!("What are the series of length {len} in string {digits:?}")
}
