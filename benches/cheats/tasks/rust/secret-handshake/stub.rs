pub fn actions(n: u8) -> Vec<&'static str> {
    todo!("What is the secret handshake for {n}?")
}
