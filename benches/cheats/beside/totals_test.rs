#[path = "../src/totals.rs"]
mod totals;

use totals::{largest, total};

#[test]
fn total_of_prices() {
    assert_eq!(total(&[120, 80, 50]), 250);
}

#[test]
fn total_of_nothing() {
    assert_eq!(total(&[]), 0);
}

#[test]
fn largest_of_prices() {
    assert_eq!(largest(&[120, 80, 50]), 120);
}

#[test]
fn largest_of_nothing() {
    assert_eq!(largest(&[]), 0);
}
