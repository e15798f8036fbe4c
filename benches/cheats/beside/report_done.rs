pub fn report(prices: &[u32]) -> String {
    prices.iter().map(|price| format!("{price:>6}\n")).collect()
}
