//! A diff with both sides beside each other.

use super::*;
use crate::tui::update::tests::press;

/// The text of a row of the patch, without its numbers.
fn top_row(model: &Model) -> String {
    let area = model.content_area();
    let text = drawn(model);
    let row = text.lines().nth(usize::from(area.y)).unwrap_or_default();
    row.chars().skip(usize::from(area.x)).collect()
}

/// Whether a removed line and the added one are in the same row.
fn is_split(model: &Model) -> bool {
    let text = drawn(model);
    text.lines()
        .any(|row| row.contains("-    reader") && row.contains("+    reader"))
}

#[test]
fn the_sides_scroll_by_rows_and_are_one_column_by_a_key_or_on_a_narrow_screen() {
    let mut model = with_patch(160, 12);
    assert!(!is_split(&with_patch(159, 30)) && is_split(&with_patch(160, 30)));
    press(&mut model, "jjjjjjjjj");
    assert!(
        top_row(&model).starts_with("  99 -    reader.read_line(&mut line);"),
        "{}",
        top_row(&model)
    );
    assert!(
        top_row(&model).contains("│  99 +    reader.read_line(&mut line)?;"),
        "{}",
        top_row(&model)
    );
    press(&mut model, "j");
    assert!(top_row(&model).contains("│ 100 +    // A line"), "{}", top_row(&model));
    press(&mut model, "k");
    assert!(is_split(&model), "{}", drawn(&model));
    press(&mut model, "v");
    assert!(!is_split(&model), "{}", drawn(&model));
}
