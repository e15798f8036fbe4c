//! The report of the run: rendered after a change, and opened automatically when the run is over.

use std::borrow::Cow;

use ralph_core::{
    event::{Proof, StopReason},
    run::Iteration,
};

use crate::{
    report::{self, ChangedFiles, IterationFold, RunReport},
    tui::{
        editor::Editor,
        keys::KeyAction,
        model::{AnswerBox, AnswerStep, InputMode, IterationCommits, Model, PageRow, Pane, used_up},
        order::ScreenOrder,
    },
};

use super::{content::PaneContent, page};

pub(super) struct ReportContent;

impl PaneContent for ReportContent {
    fn rows<'m>(&self, model: &'m Model) -> Cow<'m, [PageRow]> {
        Cow::Borrowed(&model.ui.report.rows)
    }

    fn below(&self, model: &Model) -> usize {
        self.last(model).saturating_sub(self.at(model))
    }

    /// Unfolds the iterations, or folds them again.
    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        if action == KeyAction::Open {
            let report = &mut model.ui.report;
            report.width = None;
            report.fold = match report.fold {
                IterationFold::Folded => IterationFold::Unfolded,
                IterationFold::Unfolded => IterationFold::Folded,
            };
        }
        Vec::new()
    }

    fn file(&self) -> &'static str {
        "report.txt"
    }
}

/// Renders the report again if it is shown and the run or the width has changed.
pub(in crate::tui) fn refresh(model: &mut Model) {
    let main = model.layout().main;
    if model.ui.pane != Pane::Report || model.ui.report.width == Some(main.width) {
        return;
    }
    let commits = &model.ui.report.commits;
    let mut report = match model.run.is_over() || model.ui.replay.is_some() {
        true => RunReport::from_view(model.run.clone()),
        false => RunReport::from_running(model.run.clone(), model.now_ms),
    };
    report = report.with_files(model.ui.report.files.clone());
    report.said.clone_from(&model.agent_text.last_sentences);
    let of_iteration = |row: &Iteration| commits.get(&row.number).cloned().unwrap_or_default();
    report.commits = report.iterations().map(of_iteration).collect();
    let lines = report::page(&report, model.ui.report.fold, |at_ms| model.clock(at_ms));
    model.ui.report.rows = page::broken(lines, main.width);
    model.ui.report.width = Some(main.width);
    let top = ReportContent.at(model).min(ReportContent.last(model));
    ReportContent.put(model, top);
}

/// Takes the commits of iterations and the changed files.
pub(in crate::tui) fn commits_listed(
    model: &mut Model,
    commits: IterationCommits,
    files: Option<ChangedFiles>,
) -> Vec<ScreenOrder> {
    (model.ui.report.commits, model.ui.report.files) = (commits, files);
    model.ui.report.width = None;
    Vec::new()
}

/// Shows the end of a finished run once the user is not typing, with an answer line if a question blocks it.
pub(in crate::tui) fn show_end(model: &mut Model) {
    if !model.ui.report.due || model.ui.mode != InputMode::Normal {
        return;
    }
    let shown = model.ui.pane;
    model.ui.show(Pane::Report);
    ReportContent.put(model, 0);
    model.ui.report.due = false;
    model.ui.report.instead_of = (shown != Pane::Report).then_some(shown);
    let is_verified = model
        .run
        .stop_reason()
        .is_some_and(|reason| *reason == StopReason::done(Proof::Tests));
    if matches!(model.run.stop_reason(), Some(StopReason::Blocked { .. }))
        // Tests that pass as they were need no word of the user.
        || model.run.permissions.decisions().next().is_some() && !is_verified
    {
        answer(model);
    }
}

/// Opens the answer line for the question with which the run ended. Returns false if nothing can be answered.
pub(in crate::tui) fn answer(model: &mut Model) -> bool {
    if let Some(asked) = model.run.permissions.decisions().next() {
        model.ui.mode = InputMode::Answering(AnswerBox {
            late: true,
            ..AnswerBox::new(asked.number, model.now_ms)
        });
        return true;
    }
    let Some(block) = model.run.blocks.last() else {
        return false;
    };
    if used_up(&model.run).is_some() {
        return false;
    }
    model.ui.mode = InputMode::Answering(AnswerBox {
        late: true,
        step: AnswerStep::Wording(Editor::default()),
        ..AnswerBox::new(block.number, model.now_ms)
    });
    true
}

#[cfg(test)]
mod tests {
    use crate::{
        report::CommitLine,
        tui::{
            order::ScreenEvent,
            testing::{model, running, stopped},
            update::update,
        },
    };

    use super::*;

    #[test]
    fn the_tasks_of_the_end_have_the_subjects_of_their_commits() {
        let mut model = model(100, 30, [running(), vec![stopped(StopReason::Requested)]].concat());
        show_end(&mut model);
        let commit = CommitLine {
            id: "5e335bc".to_owned(),
            subject: "Parse lists".to_owned(),
        };
        let commits = IterationCommits::from([(3, vec![commit])]);
        update(&mut model, ScreenEvent::CommitsListed { commits, files: None });
        let rows: Vec<String> = model.ui.report.rows.iter().map(PageRow::text).collect();
        let at = rows.iter().position(|row| row == "5e335bc Parse lists");
        assert_eq!(
            rows[at.expect("the commit") - 1],
            "Describe the format in README.md",
            "{rows:?}"
        );
    }
}
