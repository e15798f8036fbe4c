//! The highlights of a search.

use super::*;
use crate::tui::update::tests::press;

/// The columns and rows with the background of the current match.
fn current(model: &Model) -> Vec<(u16, u16)> {
    let drawn = buffer(model, &live(model, ""), &DARK);
    let style = DARK.style(TextRole::CurrentMatch);
    let cells = drawn.content().iter().enumerate();
    cells
        .filter(|(_, cell)| Some(cell.bg) == style.bg)
        .map(|(at, _)| drawn.pos_of(at))
        .collect()
}

#[test]
fn the_match_that_a_search_is_at_stands_out_among_the_others() {
    let mut model = with(model(100, 30, running()), |model| {
        model.ui.show(Pane::Diff);
        model.ui.diff.state = DiffState::Loaded(Patch::parse("a Needle and a needle\nhay\nNeedle\n"));
    });
    press(&mut model, "/needle");
    let first = current(&model);
    assert_eq!(first.len(), 6, "{first:?}");
    model.ui.mode = InputMode::Normal;
    press(&mut model, "n");
    let second = current(&model);
    assert_eq!(
        (second.len(), second[0].1),
        (6, first[0].1),
        "the second one of the same line"
    );
    assert!(second[0].0 > first[0].0);
    press(&mut model, "n");
    let third = current(&model);
    assert_eq!(third.len(), 6, "{:?} {}", model.ui.search, drawn(&model));
    assert_eq!(third[0].1, first[0].1 + 2);
}
