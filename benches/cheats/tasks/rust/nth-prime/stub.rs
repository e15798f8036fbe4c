pub fn nth(n: u32) -> u32 {
    todo!("What is the 0-indexed {n}th prime number?")
}
