//! Plans, and edits of them: an edit changes the one task, and undoing it gives the same tasks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::event::PlanTask;
use ralph_plan::{PlanKind, TaskEdit, advice, edit, read_bytes, sections};

/// Tasks of a plan that are edited.
const EDITED: usize = 4;

fuzz_target!(|bytes: &[u8]| {
    for kind in [PlanKind::Markdown, PlanKind::Prd] {
        let Ok(parsed) = read_bytes(kind, bytes) else { continue };
        let tasks = &parsed.plan.tasks;
        assert!(!tasks.is_empty());
        if let Ok(text) = std::str::from_utf8(bytes) {
            _ = advice(kind, text, &parsed);
            _ = sections(text, tasks);
        }
        for (at, task) in tasks.iter().enumerate().take(EDITED) {
            let (there, back) = match task.done {
                true => (TaskEdit::Untick, TaskEdit::Tick),
                false => (TaskEdit::Tick, TaskEdit::Untick),
            };
            let Ok(ticked) = edit(kind, bytes, task.line, &task.text, there) else {
                continue;
            };
            let changed = read_bytes(kind, ticked.as_bytes())
                .expect("a plan after an edit")
                .plan
                .tasks;
            assert_eq!(changed.len(), tasks.len());
            for (number, (before, after)) in tasks.iter().zip(&changed).enumerate() {
                assert_eq!(before.text, after.text);
                assert_eq!(before.done != after.done, number == at, "task {number}");
            }
            if let Ok(restored) = edit(kind, ticked.as_bytes(), changed[at].line, &task.text, back) {
                let restored = read_bytes(kind, restored.as_bytes())
                    .expect("a plan after two edits")
                    .plan
                    .tasks;
                let seen = |task: &PlanTask| (task.text.clone(), task.done, task.depth);
                assert!(restored.iter().map(seen).eq(tasks.iter().map(seen)));
            }
            for moved in [TaskEdit::MoveUp, TaskEdit::MoveDown] {
                if let Ok(moved) = edit(kind, bytes, task.line, &task.text, moved) {
                    let moved = read_bytes(kind, moved.as_bytes())
                        .expect("a plan after a move")
                        .plan
                        .tasks;
                    assert_eq!(moved.len(), tasks.len());
                }
            }
        }
    }
});
