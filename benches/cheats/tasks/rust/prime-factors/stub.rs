pub fn factors(n: u64) -> Vec<u64> {
    todo!("This should calculate the prime factors of {n}")
}
