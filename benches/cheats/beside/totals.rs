pub fn total(prices: &[u32]) -> u32 {
    prices.iter().sum()
}

pub fn largest(prices: &[u32]) -> u32 {
    prices.iter().copied().max().unwrap_or(0)
}
