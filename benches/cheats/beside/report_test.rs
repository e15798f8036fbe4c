#[path = "../src/report.rs"]
mod report;

use report::report;

#[test]
fn report_of_prices() {
    assert_eq!(report(&[120, 80, 5]), include_str!("../golden/report.txt"));
}
