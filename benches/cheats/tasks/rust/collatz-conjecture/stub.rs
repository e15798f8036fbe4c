pub fn collatz(n: u64) -> Option<u64> {
    todo!("return Some(x) where x is the number of steps required to reach 1 starting with {n}")
}
