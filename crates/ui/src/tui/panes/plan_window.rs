//! The rows of a plan that are shown where there is no room for all of them.

use ralph_core::event::PlanSnapshot;

use crate::tui::model::PlanRow;

#[derive(Debug, Clone)]
pub(super) enum PlanLine {
    Row(PlanRow),
    /// A number of tasks without room.
    More {
        count: usize,
        done: bool,
        /// Index of the nearest of them.
        next: usize,
    },
}

/// The lines that fit, including the row at `kept`. Hidden rows before and after them are summarised in one line each.
pub(super) fn window(plan: &PlanSnapshot, rows: &[PlanRow], kept: Option<usize>, height: usize) -> Vec<PlanLine> {
    let lines = |rows: &[PlanRow]| rows.iter().cloned().map(PlanLine::Row).collect::<Vec<_>>();
    if rows.len() <= height {
        return lines(rows);
    }
    if height == 0 {
        return Vec::new();
    }
    // One row before the kept one stays visible as context.
    let start = kept
        .map_or(rows.len(), |at| at.saturating_sub(1))
        .min(rows.len() + 1 - height);
    let before = usize::from(start > 0);
    let room = height - before;
    let after = usize::from(start + room < rows.len());
    let shown = room - after;
    // A single hidden row takes no more room than its summary.
    let (start, shown) = if start == 1 {
        (0, height - after)
    } else {
        (start, shown)
    };
    let end = (start + shown).min(rows.len());
    // The heading above the kept row stays, in place of the row before that one.
    let is_heading = |row: &PlanRow| matches!(row, PlanRow::Heading { .. });
    let heading = kept.and_then(|kept| rows[..=kept].iter().rposition(is_heading));
    let heading = heading.filter(|at| *at < start && kept.is_some_and(|kept| kept > start) && height >= 4);
    let start = start + usize::from(heading.is_some());
    let (above, below) = (&rows[..start], &rows[end..]);
    let mut all = Vec::new();
    all.extend(above.last().map(|nearest| more(plan, above, nearest)));
    all.extend(heading.map(|at| PlanLine::Row(rows[at].clone())));
    all.extend(lines(&rows[start..end]));
    all.extend(below.first().map(|nearest| more(plan, below, nearest)));
    all
}

fn more(plan: &PlanSnapshot, hidden: &[PlanRow], nearest: &PlanRow) -> PlanLine {
    let (mut count, mut done) = (0, 0);
    for row in hidden {
        let tasks = match row {
            PlanRow::Heading { tasks, is_folded: true } => tasks.clone(),
            PlanRow::Heading { .. } => continue,
            PlanRow::Task(at) => *at..at + 1,
        };
        count += tasks.len();
        done += plan.tasks[tasks].iter().filter(|task| task.done).count();
    }
    PlanLine::More {
        count,
        done: done == count,
        next: nearest.task(),
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::PlanTask;

    use super::*;

    fn shown(done: usize, open: usize, height: usize) -> String {
        let tasks = (0..done + open)
            .map(|n| PlanTask {
                text: n.to_string(),
                done: n < done,
                line: u32::try_from(n).unwrap(),
                depth: 0,
                heading: None,
                settings: Default::default(),
                ..PlanTask::default()
            })
            .collect();
        let plan = PlanSnapshot { tasks };
        let current = plan
            .current()
            .and_then(|current| plan.tasks.iter().position(|task| task == current));
        let rows: Vec<_> = (0..plan.tasks.len()).map(PlanRow::Task).collect();
        let lines = window(&plan, &rows, current, height);
        assert!(lines.len() <= height);
        let words = lines.iter().map(|line| match line {
            PlanLine::Row(row) => plan.tasks[row.task()].text.clone(),
            PlanLine::More { count, done, .. } => format!("({count}{})", if *done { " done" } else { "" }),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_heading_of_the_current_task_stays_when_the_tasks_above_it_do_not() {
        let tasks = (0..12).map(|n| PlanTask {
            text: n.to_string(),
            heading: Some(if n < 2 { "First" } else { "Second" }.to_owned()),
            done: false,
            line: 1,
            depth: 0,
            settings: Default::default(),
            ..PlanTask::default()
        });
        let plan = PlanSnapshot { tasks: tasks.collect() };
        let heading = |tasks| PlanRow::Heading {
            tasks,
            is_folded: false,
        };
        let mut rows = vec![heading(0..2)];
        rows.extend((0..2).map(PlanRow::Task));
        rows.push(heading(2..12));
        rows.extend((2..12).map(PlanRow::Task));
        let kept = rows.iter().position(|row| matches!(row, PlanRow::Task(8)));
        let lines = window(&plan, &rows, kept, 5);
        let is_second =
            |line: &PlanLine| matches!(line, PlanLine::Row(PlanRow::Heading { tasks, .. }) if tasks.start == 2);
        assert!(is_second(&lines[1]), "{lines:?}");
        assert!(matches!(lines[0], PlanLine::More { count: 8, .. }), "{lines:?}");
        assert!(matches!(lines[2], PlanLine::Row(PlanRow::Task(8))), "{lines:?}");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn long_parts_are_folded_and_the_current_task_stays() {
        assert_eq!(shown(2, 2, 4), "0 1 2 3");
        assert_eq!(shown(10, 10, 5), "(9 done) 9 10 11 (8)");
        assert_eq!(shown(0, 20, 4), "0 1 2 (17)");
        assert_eq!(shown(20, 0, 4), "(17 done) 17 18 19");
        assert_eq!(shown(19, 1, 4), "(17 done) 17 18 19");
        assert_eq!(shown(2, 20, 4), "0 1 2 (19)");
    }

    #[test]
    fn every_task_is_shown_or_counted_at_every_height() {
        for done in 0..12 {
            for open in 0..12 {
                for height in 2..10 {
                    let text = shown(done, open, height);
                    let count: usize = text
                        .split(['(', ')'])
                        .enumerate()
                        .map(|(at, part)| match at % 2 {
                            0 => part.split_whitespace().count(),
                            _ => part.split_whitespace().next().unwrap().parse().unwrap(),
                        })
                        .sum();
                    assert_eq!(count, done + open, "{done} done, {open} open, {height} rows: {text}");
                }
            }
        }
    }
}
