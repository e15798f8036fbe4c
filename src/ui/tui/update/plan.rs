//! The plan's pane: the selected task and the folded headings.

use crate::ui::tui::{
    layout::ScreenLayout,
    model::{Model, PlanRow, has_sections, heading_of},
    view,
};

use super::order::{ScreenOrder, Scroll, refused};

/// Moves the selection among the visible tasks; a folded section counts as one step, its first task.
pub(super) fn scroll(model: &mut Model, scroll: Scroll) {
    let mut rows = model.plan_rows();
    rows.retain(|row| row.stands_for(row.task()));
    let chosen = model.task_at().unwrap_or(0);
    let at = rows.iter().position(|row| row.stands_for(chosen)).unwrap_or(0);
    let row = rows.get(scroll.downwards(at, rows.len().saturating_sub(1)));
    model.ui.task = row.map(PlanRow::task);
}

/// Handles a click: selects a task, or folds or unfolds a section.
pub(super) fn clicked(model: &mut Model, layout: &ScreenLayout, row: u16) -> Vec<ScreenOrder> {
    let Some(row) = view::plan_row_at(model, layout, row) else {
        return Vec::new();
    };
    model.ui.task = Some(row.task());
    match row {
        PlanRow::Heading { .. } => fold(model),
        PlanRow::Task(_) => Vec::new(),
    }
}

pub(super) fn fold(model: &mut Model) -> Vec<ScreenOrder> {
    if model.layout().has_strip() {
        return refused(model, "headings need a larger plan pane; `z` zooms it");
    }
    let plan = &model.run.plan;
    let task = model.task_at().unwrap_or(0);
    let heading = heading_of(plan, task).filter(|_| has_sections(plan));
    let Some(heading) = heading.map(str::to_owned) else {
        return refused(model, "no heading is above this task");
    };
    // The current task may change to another section later.
    model.ui.task = Some(task);
    if !model.ui.folded.remove(&heading) {
        model.ui.folded.insert(heading);
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;

    use ralph_core::event::{Event, PlanSnapshot, PlanTask};

    use super::*;
    use crate::ui::tui::{
        testing::{begun, model},
        update::{
            tests::{clicked, key, press},
            update,
        },
    };

    #[test]
    fn headings_of_the_plan_fold_and_every_task_is_reached_by_keys_wheel_and_click() {
        let tasks = (0..5_000).map(|at| PlanTask {
            text: format!("task {at}"),
            done: at < 3,
            line: at,
            depth: 0,
            heading: (at % 500 == 0).then(|| format!("part {}", at / 500)),
            settings: Default::default(),
        });
        let plan = PlanSnapshot { tasks: tasks.collect() };
        let mut model = model(120, 40, [begun(), vec![Event::PlanRead { plan }]].concat());
        update(&mut model, key(KeyCode::Tab));
        let top = model.layout().tasks.y + 1;
        let click = |model: &mut Model, row: u16| {
            assert_eq!(update(model, clicked(3, top + row)), []);
            model.task_at()
        };
        // The first section's heading and three of its tasks are above the current one.
        assert_eq!((model.task_at(), click(&mut model, 1)), (Some(3), Some(2)));
        press(&mut model, "jjjG");
        assert_eq!(model.task_at(), Some(4_999));
        // Down to the last row, which stands for all tasks without room. Below it are the goal and its title.
        press(&mut model, "g");
        let last = model.layout().tasks.height - 4;
        let next = click(&mut model, last).unwrap();
        assert_eq!((usize::from(last), model.task_at()), (next + 1, Some(next)));
        // A folded section is a single step.
        press(&mut model, "g");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(model.task_at(), Some(0));
        press(&mut model, "j");
        assert_eq!(model.task_at(), Some(500));
        press(&mut model, "k");
        assert_eq!(click(&mut model, 3), Some(501));
        press(&mut model, "g");
        assert_eq!(click(&mut model, 0), Some(0));
        press(&mut model, "j");
        assert_eq!(model.task_at(), Some(1), "a click on the heading has unfolded it");
        // The strip above the main area has no headings.
        (model.ui.cols, model.ui.rows) = (80, 24);
        update(&mut model, key(KeyCode::Enter));
        assert!(model.ui.folded.is_empty() && model.ui.toast.is_some());
        press(&mut model, "z");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(model.ui.folded.len(), 1);
    }
}
