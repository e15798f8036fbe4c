//! Hints on what to type next, in sentences.

use ralph_core::{
    event::{Hint, LimitKind, RestoreMoment},
    limits::{LimitScope, consumption},
    run::RunView,
};
use ralph_text::shell_word;

use super::{
    counted, raise_option,
    repository::{head_in_words, stash_left_in_words, way_back_in_words},
    sufficient_raise,
};

/// Returns a hint like [`hint_in_words`], with the question's number if the run of `view` has exactly one open
/// question.
pub fn hint_for(hint: &Hint, view: &RunView) -> String {
    match (hint, &view.open_asks()[..]) {
        (Hint::Answer, [only]) => format!(
            "answer with `ralph answer {} \"ANSWER\"`, or on the screen (`a` opens the line for it): the run resumes with it",
            only.number()
        ),
        (Hint::RaiseLimit { limit }, _) => {
            let used = consumption(view, view.clock.now_ms);
            let option = sufficient_raise(*limit, &view.settings.limits, &used);
            raise_in_words(
                *limit,
                option.map_or_else(|| raise_option(*limit), |option| option.join(" ")),
            )
        }
        (hint, _) => hint_in_words(hint),
    }
}

/// The command that goes on with a higher limit.
fn raise_in_words(limit: LimitKind, option: String) -> String {
    let higher = format!("`ralph continue {option}`");
    match limit.row().scope {
        LimitScope::Day => format!("`ralph continue` continues this run tomorrow, {higher} with a higher limit now"),
        LimitScope::Task => format!("{higher} resumes its tasks with a higher limit"),
        LimitScope::Run | LimitScope::Hour | LimitScope::Iteration => {
            format!("{higher} continues this run with a higher limit, `ralph` starts a new one")
        }
    }
}

/// A possible next step after the end of a run, with its command.
pub fn hint_in_words(hint: &Hint) -> String {
    match hint {
        Hint::Resume => "`ralph continue` continues this run, `ralph` starts a new one".to_owned(),
        Hint::StartAgain => {
            "`ralph continue` continues this run with the stuck detector reset, `ralph` starts a new one".to_owned()
        }
        Hint::SetGoal => {
            "no goal was checked: review the result, or let ralph check it with `--goal tests='COMMAND'`".to_owned()
        }
        Hint::CountTests => {
            "the goals passed by exit code only: a goal whose output shows its tests makes the end *verified*"
                .to_owned()
        }
        Hint::ConfirmTests => "`ralph confirm` shows the changes to tests and asks for your answer".to_owned(),
        Hint::ConfirmScope => {
            "`ralph confirm` shows the changes outside of the scope and asks for your answer; then `ralph continue`"
                .to_owned()
        }
        Hint::SeeDiff { iteration } => {
            format!("see `ralph diff {iteration}`, then split the task or adjust the prompt")
        }
        Hint::SplitTask => {
            "no iteration changed a file that ralph sees: split the task or adjust the prompt".to_owned()
        }
        Hint::SeeTests { iteration, file } => {
            let span = iteration.map_or_else(|| "--since 1".to_owned(), |iteration| iteration.to_string());
            format!(
                "`ralph diff {span} -- {}` shows what became of your tests",
                shell_word(file)
            )
        }
        Hint::WorkUnseen { file } if file.starts_with('/') => format!(
            "by its own word the agent wrote {file}, which ralph does not see: start ralph in a directory that holds all \
             of the work"
        ),
        Hint::WorkUnseen { file } => format!(
            "by its own word the agent wrote {file}, which git ignores: with `\"checkpoint\": {{\"include\": \
             [\"{file}\"]}}` in `.ralph/config.json` ralph sees it"
        ),
        Hint::SeeGoal {
            goal,
            broken_by: Some(by),
        } => format!("`ralph diff {by}` shows what broke `{goal}`, and `ralph goals check` what it prints now"),
        Hint::SeeGoal { goal, broken_by: None } => {
            format!("run `ralph goals check` to see what `{goal}` prints, then fix the cause or the goal")
        }
        Hint::Answer => {
            "answer with `ralph answer N \"ANSWER\"` (`ralph asks` lists the questions): the run resumes with it"
                .to_owned()
        }
        Hint::LogIn { how } => how.to_string(),
        Hint::CheckAdapter { adapter } => {
            format!("`ralph adapters check {adapter}` shows what the adapter needs")
        }
        Hint::NeedLiveChannel { adapter } => format!(
            "update the agent (`ralph adapters check {adapter}` names the version it was tested with); without its live \
             channel, neither `permissions` nor `--channel live` can be kept"
        ),
        Hint::NameModel => "name another model with `--model`".to_owned(),
        Hint::CommentOpen {
            comment,
            place,
            answered: true,
        } => format!(
            "comment {comment} on {place} is answered: `ralph comment` shows the reason, `ralph comment --resolve {comment}` accepts it"
        ),
        Hint::CommentOpen {
            comment,
            place,
            answered: false,
        } => format!("comment {comment} on {place} is open; `ralph comment --resolve {comment}` closes it"),
        Hint::CommentsUnsent { drafts } => format!(
            "{} not sent: `ralph comment --send` resumes the run with them",
            counted(u64::from(*drafts), "comment")
        ),
        Hint::TaskSetAside { task } => format!("set aside by you, and still open: {task}"),
        Hint::FixPlan => "fix the plan, then `ralph continue`".to_owned(),
        Hint::FixCause => "fix the cause, then `ralph continue`".to_owned(),
        Hint::StashLeft { stash } => stash_left_in_words(stash),
        Hint::HeadPlaced { place } => head_in_words(place),
        Hint::BringRepositoryBack { lost } => way_back_in_words(lost),
        Hint::Restore { iteration, moment } => match moment {
            RestoreMoment::Before => format!(
                "`ralph restore {iteration} --before` brings back the files as they were before iteration {iteration}"
            ),
            RestoreMoment::After => {
                format!("`ralph restore {iteration}` brings back the files as they were after iteration {iteration}")
            }
        },
        Hint::RaiseLimit { limit } => raise_in_words(*limit, raise_option(*limit)),
        Hint::MessageUndelivered { message, text } => {
            format!(
                "message {} was never delivered; send it again to include it: {text}",
                message.0
            )
        }
        Hint::MessageExpires { message, text } => format!(
            "message {} applies to this run only; send it again to include it in the next: {text}",
            message.0
        ),
        Hint::More { count } => format!("… and {count} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_question_is_answered_by_its_number() {
        let mut view = RunView::default();
        assert!(hint_for(&Hint::Answer, &view).contains("`ralph answer N \"ANSWER\"`"));
        view.blocks.push(ralph_core::run::Block {
            number: 3,
            task: None,
            question: "Which key?".to_owned(),
        });
        assert!(hint_for(&Hint::Answer, &view).starts_with("answer with `ralph answer 3 \"ANSWER\"`, or on"));
    }

    #[test]
    fn a_restore_is_named_with_the_moment_it_goes_back_to() {
        let moment = RestoreMoment::Before;
        assert_eq!(
            hint_in_words(&Hint::Restore { iteration: 3, moment }),
            "`ralph restore 3 --before` brings back the files as they were before iteration 3"
        );
    }
}
