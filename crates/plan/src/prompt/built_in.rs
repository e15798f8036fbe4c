//! ralph's own instructions.

use ralph_core::event::Mode;

use super::{
    draft::{AgentConfinement, Draft, PromptInput, progress},
    template::Brief,
};
use crate::{PlanKind, StoryState};

pub(super) fn write(draft: &mut Draft, input: &PromptInput<'_>, brief: &Brief) {
    write_work(draft, input, brief, &progress(input), &input.iteration.to_string());
    draft.push_own("\n");
    write_last_words(draft, input);
}

/// The built-in instructions as a template for the user to edit, without the parts that ralph appends to every
/// template.
pub(super) fn as_template(kind: PlanKind, story_state: Option<&StoryState>, brief: &Brief) -> String {
    let mut draft = Draft::default();
    let input = PromptInput {
        plan: "{plan}",
        kind,
        story_state,
        task: Some("{task}"),
        line: 0,
        section: None,
        only: &[],
        steps: &[],
        sent_back: false,
        iteration: 1,
        done: 0,
        total: 1,
        has_lost_tasks: false,
        promise: "",
        standing: &[],
        once: &[],
        notices: &[],
        background: &[],
        before: None,
        confined: AgentConfinement::No,
        shares_stashes: false,
        has_tools: false,
    };
    // Braces in a file name do not form a placeholder.
    let brief = Brief {
        reads: brief
            .reads
            .iter()
            .map(|name| name.replace('{', "{{").replace('}', "}}"))
            .collect(),
        ..brief.clone()
    };
    write_work(&mut draft, &input, &brief, "{progress}", "{iteration}");
    draft.prompt.text
}

fn write_work(draft: &mut Draft, input: &PromptInput<'_>, brief: &Brief, progress: &str, iteration: &str) {
    draft.push_own("You are one session of a loop that works through the plan in ");
    draft.push_own(input.plan);
    draft.push_own(&format!(" ({progress}). This is session {iteration}; "));
    match input.task {
        Some(task) if input.sent_back => write_sent_back(draft, input, task),
        Some(task) => write_task(draft, input, task),
        None if input.total == 0 => draft.push_own(
            "the plan describes the work without a task list.\n\n1. Read the plan, then look at the tree as it is: keep what is sound of earlier \
             sessions.\n2. Carry out the next part that is missing, all of it: no stubs, no placeholders. Cover it with \
             tests, and run the project's checks until they pass.\n3. In a git repository, commit what you changed.\n",
        ),
        None if input.has_lost_tasks => draft.push_own(
            "tasks that were open were removed from the plan. Put their lines back where they were, with the same text, then carry out \
             the first of them.\n",
        ),
        None if asks_for_more(input) => draft.push_own(
            "no task is open, but the user has sent the message below. Do what it says, all of it, and run the project's \
             checks until they pass. In a git repository, commit what you changed.\n",
        ),
        None => draft.push_own(
            "no task is open, yet the work was not accepted as done. Find out why, from the plan, the tree and the notes \
             below, and set it right.\n",
        ),
    }
    write_brief(draft, brief);
    draft.push_own(
        "\nNobody answers while you work: decide for yourself, and leave what others must know as a note with \
         the task. Stop what you start in the background before you end.\n",
    );
}

/// Writes the instructions of the mode and the list of files to read first.
///
/// A project's files for another loop tool may have rules for that tool, such as a file to tick off or final words. The
/// prompt overrides them.
fn write_brief(draft: &mut Draft, brief: &Brief) {
    draft.push_own(match brief.mode {
        None => "",
        Some(Mode::Implementation) => "\nLook whether something is there already before you write it.\n",
        Some(Mode::Refactor) => {
            "\nThis is a refactoring: what the code does stays the same. Run the tests before the first change and after each step. \
             Change no test so that it passes; where code has none, first write one that holds what it does now.\n"
        }
        Some(Mode::Fix) => {
            "\nWhere the task is something that goes wrong, reproduce it first, with a test that fails because of it; then fix the cause, \
             not the symptom, and keep the test.\n"
        }
    });
    if !brief.reads.is_empty() {
        draft.push_own("\nRead first what the project says about the work: ");
        draft.push_own(&brief.reads.join(", "));
        draft
            .push_own(". If that asks for a status block, a word or a file to end with, this prompt counts instead.\n");
    }
}

/// Whether the user's message is the only work to do.
fn asks_for_more(input: &PromptInput<'_>) -> bool {
    input.notices.is_empty() && !(input.once.is_empty() && input.standing.is_empty())
}

fn write_task(draft: &mut Draft, input: &PromptInput<'_>, task: &str) {
    draft.push_own("its one task is the first open one:\n\n  ");
    draft.push_user(task);
    write_place(draft, input);
    draft.push_own("\n\n1. Read the plan, then look at the tree as it is: an earlier session may have been cut off. Keep what is sound, do the rest.\n");
    draft.push_own("2. Do all of this task and no other");
    draft.push_own(match input.steps {
        [] => "",
        _ => ", its open steps in their order",
    });
    draft.push_own(
        ": no stubs, no placeholders. Cover it with tests, and run the project's checks until they pass. Answer questions in your last message.\n",
    );
    draft.push_own("3. When that is true, and not before, ");
    let how = match input.kind {
        PlanKind::Markdown if !input.steps.is_empty() => {
            "tick the boxes of its steps in the plan: `[x]`. Leave the other boxes as they are"
        }
        PlanKind::Markdown => "tick its box in the plan: `[x]`. Leave the other boxes as they are",
        PlanKind::Prd => {
            let state = input.story_state.cloned().unwrap_or_default();
            draft.push_own(&format!("set its `{}` to {}", state.key, state.done));
            " in the plan. Leave the other stories as they are"
        }
    };
    draft.push_own(how);
    draft.push_own("; never delete or reword an open task. Add one for missing work.\n");
    draft.push_own("4. In a git repository, commit what you changed, the plan with it.\n");
}

/// Writes where the task is, and its steps.
fn write_place(draft: &mut Draft, input: &PromptInput<'_>) {
    if input.line > 0 {
        draft.push_own(&format!("\n  (line {}", input.line));
        if let Some(section) = input.section {
            draft.push_own(", below \"");
            draft.push_user(section);
            draft.push_own("\"");
        }
        draft.push_own(")");
    }
    write_steps(draft, input);
}

pub(super) fn write_steps(draft: &mut Draft, input: &PromptInput<'_>) {
    for step in input.steps {
        draft.push_own(if step.done { "\n  - [x] " } else { "\n  - [ ] " });
        draft.push_user(&step.text);
    }
}

/// Writes the task of a session that a reviewer sent back.
fn write_sent_back(draft: &mut Draft, input: &PromptInput<'_>, task: &str) {
    draft.push_own("its one task was reviewed and is not accepted yet:\n\n  ");
    draft.push_user(task);
    draft.push_own(
        "\n\n1. Read the plan, the tree and what the review found, below. It may be wrong: check each point.\n2. Fix what is right \
         about it, and nothing else. Cover it with tests, and run the project's checks until they pass.\n3. Leave the plan as it \
         is; never delete or reword a task. Say in your last message why, where you leave something as it is.\n",
    );
    draft.push_own(match input.kind {
        PlanKind::Markdown | PlanKind::Prd => "4. In a git repository, commit what you changed.\n",
    });
}

/// Writes how to claim completion and how to deny it, which a user's template needs as well.
///
/// No line of the prompt begins with one of these phrases, so an agent that repeats its prompt makes no statement.
pub(super) fn write_last_words(draft: &mut Draft, input: &PromptInput<'_>) {
    if !input.only.is_empty() {
        draft.push_own("For this task, change no other files than those that match ");
        draft.push_user(&input.only.join(", "));
        draft.push_own(
            ", tests, and the plan. Its tick does not count while the tree differs elsewhere. If that is too little, end as \
             blocked.\n",
        );
    }
    if input.shares_stashes {
        draft.push_own(
            "Other work trees of this repository have the same stashes: do not use `git stash`, which may give you the work \
             of another plan; commit instead.\n",
        );
    }
    draft.push_own(match input.confined {
        AgentConfinement::No => "",
        AgentConfinement::On => {
            "A sandbox lets you write to this directory, caches and temporary files only: if that is too little, end as \
             blocked.\n"
        }
        AgentConfinement::Strict => {
            "A sandbox lets you write to this directory and $TMPDIR only, and connect to few hosts: if that is too little, \
             end as blocked.\n"
        }
    });
    if input.has_tools {
        draft.push_own(
            "Tools of the MCP server `ralph` do this and more: `goals_check` runs what decides whether you are done, `claim_done`, \
             `blocked` and `question` say what the lines below say, `progress` tells how far you are.\n",
        );
    }
    draft.push_own(if input.total == 0 {
        "Only when everything in "
    } else {
        "Only when every task in "
    });
    draft.push_own(input.plan);
    draft.push_own(" is done, end your last message with this, on a line of its own: ");
    draft.promise(input);
    draft.push_own(
        "\nIf you cannot go on without an answer that only the user can give, end it with RALPH BLOCKED: and your \
         question, on one line. If something that looks done is not, end it with RALPH NOT DONE: and what is missing.\n",
    );
}
