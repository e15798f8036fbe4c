//! The work of an iteration, in words.

use ralph_core::run::RunView;
use ralph_words::task_in_words;

/// The task of the iteration at `at`. An iteration after the last task fixes the goals that refused the claim before.
pub fn iteration_task(run: &RunView, at: usize) -> String {
    let rows = &run.iterations.rows;
    let Some(iteration) = rows.get(at) else {
        return String::new();
    };
    let before = rows.iter().take(at).rev().find(|row| row.role.is_work());
    let refused = before.filter(|before| before.was_refused() && iteration.role.is_work() && iteration.task.is_none());
    let failed = refused.iter().flat_map(|before| &before.look.goals);
    let failed: Vec<&str> = failed
        .filter(|result| !result.passed)
        .map(|result| result.name.as_str())
        .collect();
    match &failed[..] {
        // A plan of prose has no tasks to finish first.
        [] if iteration.task.is_none() && iteration.role.is_work() && run.plan.tasks.is_empty() => {
            "work from the plan".to_owned()
        }
        [] => task_in_words(iteration.role, iteration.task.as_deref()),
        [goal] => format!("fix goal {goal}"),
        goals => format!("fix goals {}", goals.join(", ")),
    }
}
