pub fn rotate(input: &str, key: u8) -> String {
    todo!(
        "How would input text '{input}' transform when every letter is shifted using key '{key}'?"
    );
}
