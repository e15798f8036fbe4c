//! A batch in words: its events, the state of its plans, and the texts that it writes into git and into plans.

use std::path::Path;

use ralph_core::{
    event::{Proof, Usage},
    limits::LimitUnit,
};
use ralph_plan::batch::{
    Batch, BatchChanges, BatchEnd, BatchEvent, BatchId, BatchLimit, BatchLimits, BatchPlan, EngineEnd, EngineJob,
    HoldReason, JobEnd, KeptReason, LOCAL, MergeTrouble, PlanName, PlanPhase, RepositoryChange, StartHold, StoppedBy,
    TASKS_GIVEN, WorkTree,
};

use super::{
    Tone, counted,
    delivery::{
        checks_in_words, checks_task, delivered_count, delivered_in_words, delivered_state_in_words, delivery_in_words,
        forge_silent_in_words, threads_in_words, threads_task,
    },
    figures::{listed, short},
    limit::spending_in_words,
    limit_word,
    line::EventLine,
    merge::tests_task,
    proof_word, raise_option, short_duration, stop_in_words, test_trouble_in_words, wait_cause_in_words,
};

/// Maximum characters of goal output in a task.
const OUTPUT_CHARACTERS: usize = 600;

/// The line for an event; `None` if the next event's line covers it. `batch` already includes the event.
pub fn batch_line(event: &BatchEvent, batch: &Batch) -> Option<EventLine> {
    let (tone, text) = match event {
        BatchEvent::BatchStarted {
            target,
            base,
            jobs,
            engine,
            plans,
            delivery,
            ..
        } => {
            let plans = counted(plans.len() as u64, "plan");
            let how = match engine.as_str() {
                LOCAL => format!("{jobs} at a time"),
                engine => format!("{jobs} at a time by {engine}"),
            };
            let to = match delivery {
                Some(delivery) => delivery_in_words(delivery, base),
                None => format!("into `{target}` from {}", short(base)),
            };
            let text = format!("batch {}: {plans}, {how}, {to}", batch.id);
            (Tone::Start, text)
        }
        BatchEvent::BatchResumed { changes } => {
            let what = match changes.plans.is_empty() {
                true => "where it left off".to_owned(),
                false => listed_plans(&changes.plans),
            };
            (Tone::Start, format!("batch {}: resuming {what}", batch.id))
        }
        BatchEvent::WorkTreeAdded { plan, base, .. } => {
            let branch = batch.id.branch(plan);
            (
                Tone::Start,
                format!("{plan}: running on `{branch}`, from {}", short(base)),
            )
        }
        BatchEvent::JobStarted { plan } => (Tone::Start, format!("{plan}: running again")),
        BatchEvent::JobSubmitted { plan, id, .. } => {
            let job = id
                .as_ref()
                .map_or_else(|| "a job without a reported id".to_owned(), |id| format!("job {id}"));
            (Tone::Note, format!("{plan}: submitted to {} as {job}", batch.engine))
        }
        BatchEvent::JobBegan { plan } => (Tone::Note, format!("{plan}: its job has begun")),
        BatchEvent::EngineSilent { plan, why } => (Tone::Warning, format!("{plan}: {} {why}", batch.engine)),
        BatchEvent::JobEnded { plan, end, .. } => (tone_of(end), format!("{plan}: {}", job_end_in_words(end))),
        BatchEvent::PlanStalled { plan, why: Some(why) } => {
            (Tone::Warning, format!("{plan}: stalled: {}", wait_cause_in_words(why)))
        }
        BatchEvent::PlanStalled { plan, why: None } => (Tone::Note, format!("{plan}: makes progress again")),
        BatchEvent::MergeMade { plan, onto, with, .. } => {
            let text = format!(
                "{}: merged with {}; not in the target yet",
                merged_plans_in_words(plan, with),
                short(onto)
            );
            (Tone::Note, text)
        }
        BatchEvent::MergeRefused { plan, trouble, .. } => {
            (Tone::Warning, format!("{plan}: {}", trouble_in_words(trouble)))
        }
        BatchEvent::TargetMoved { plan, commit, .. } if batch.delivery.is_some() => (
            Tone::Good,
            format!("{plan}: its pull request was merged as {}", short(commit)),
        ),
        BatchEvent::TargetMoved { plan, commit, with } => {
            let proof = batch.plan(plan).map_or_else(String::new, proof_of_merge);
            let plans = merged_plans_in_words(plan, with);
            let text = format!("{plans}: merged{proof}; `{}` is at {}", batch.target, short(commit));
            (Tone::Good, text)
        }
        BatchEvent::GroupRefused { plan, with, trouble } => {
            let (plans, trouble) = (merged_plans_in_words(plan, with), trouble_in_words(trouble));
            let text = format!("{plans}: merged together, {trouble}; merging fewer of them at a time");
            (Tone::Warning, text)
        }
        BatchEvent::TargetHadMoved { plan } => (
            Tone::Note,
            format!("{plan}: `{}` moved meanwhile; merging again", batch.target),
        ),
        BatchEvent::TargetInUse { plan, why } => (Tone::Warning, format!("{plan}: {}", target_in_use_in_words(why))),
        BatchEvent::TargetPutBack { from, to } => {
            let was = from.as_deref().map_or_else(
                || "was deleted".to_owned(),
                |from| format!("was moved to {}", short(from)),
            );
            let text = format!(
                "`{}` {was} and lacked merges of this batch: reset to {}",
                batch.target,
                short(to)
            );
            (Tone::Warning, text)
        }
        BatchEvent::RepositoryChanged { change } => (Tone::Warning, repository_change_in_words(change)),
        BatchEvent::TaskAdded { plan } => (Tone::Note, format!("{plan}: {}", task_added_in_words(batch, plan))),
        BatchEvent::Delivered { plan, .. } => {
            let what = batch.plan(plan).map(|plan| delivered_in_words(batch, plan));
            (Tone::Good, format!("{plan}: {}", what.unwrap_or_default()))
        }
        BatchEvent::ForgeSilent { plan, why: Some(why) } => {
            (Tone::Warning, format!("{plan}: {}", forge_silent_in_words(why)))
        }
        BatchEvent::ForgeSilent { plan, why: None } => (Tone::Note, format!("{plan}: the forge answers again")),
        BatchEvent::PlanKept { plan, why } => {
            let hint = batch.plan(plan).and_then(user_hint);
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            (Tone::Bad, format!("{plan}: not merged: {}{hint}", kept_in_words(why)))
        }
        BatchEvent::TestsConfirmed { plan } => (Tone::Note, format!("{plan}: its changed tests were confirmed")),
        BatchEvent::WorkTreeKept { plan, why } => {
            (Tone::Warning, format!("{plan}: merged; its work tree is kept: {why}"))
        }
        BatchEvent::BatchChanged { changes } => (Tone::Note, changes_to_batch_in_words(changes)),
        BatchEvent::WorkTreeRemoved { kept: None, .. } => return None,
        BatchEvent::WorkTreeRemoved { plan, kept: Some(kept) } => {
            let more = match kept.count {
                0 | 1 => ", which git ignores, is".to_owned(),
                count => format!(" and {} more, which git ignores, are", count - 1),
            };
            let text = format!("{plan}: `{}`{more} kept in {}", kept.first, kept.directory);
            (Tone::Note, text)
        }
        BatchEvent::StartsHeld { held } => {
            let told_ms = batch
                .announced_hold
                .as_ref()
                .map_or(held.until_ms, |(told_ms, _)| *told_ms);
            (Tone::Warning, held_in_words(held, told_ms))
        }
        BatchEvent::BudgetNear { limit, percent } => {
            let text = format!(
                "{percent}% of the {} limit of all plans is used",
                limit_word(limit.kind())
            );
            (Tone::Warning, text)
        }
        BatchEvent::BudgetUsedUp { limit } => {
            let text = format!(
                "{}: ending the runs; finished plans are merged",
                budget_in_words(*limit)
            );
            (Tone::Warning, text)
        }
        BatchEvent::CancelRequested { plan } => (Tone::Note, format!("{plan}: cancelling")),
        BatchEvent::StopRequested { .. } => (Tone::Note, "stopping: ending the runs; they can be resumed".to_owned()),
        BatchEvent::BatchEnded { end } => return Some(end_line(batch, *end)),
        BatchEvent::BatchOpened { .. }
        | BatchEvent::PlanStarted { .. }
        | BatchEvent::AdapterLimited { .. }
        | BatchEvent::MergeStarted { .. }
        | BatchEvent::DeliveryStarted { .. }
        | BatchEvent::MergeVerified { .. } => return None,
    };
    Some(EventLine { tone, text })
}

/// The task that a plan was just given, as a clause.
fn task_added_in_words(batch: &Batch, name: &PlanName) -> String {
    let Some(plan) = batch.plan(name) else {
        return String::new();
    };
    match (&plan.trouble, &batch.delivery) {
        (Some(trouble), Some(delivery)) if trouble.is_of_request() => {
            let (round, rounds) = (plan.rounds, delivery.rounds);
            format!("its agent gets a task from the pull request ({round} of {rounds})")
        }
        (_, _) => format!(
            "its agent gets a task to resolve the merge ({} of {TASKS_GIVEN})",
            plan.tasks_given
        ),
    }
}

fn end_line(batch: &Batch, end: BatchEnd) -> EventLine {
    let merged = batch
        .plans
        .iter()
        .filter(|plan| matches!(plan.phase, PlanPhase::Merged { .. }))
        .count();
    let count = delivered_count(batch, merged).unwrap_or_else(|| {
        format!(
            "{merged} of {} merged into `{}`",
            counted(batch.plans.len() as u64, "plan"),
            batch.target
        )
    });
    let (tone, text) = match end {
        BatchEnd::Merged => (Tone::Good, format!("done: {count}")),
        BatchEnd::Incomplete => (Tone::Bad, format!("over: {count}")),
        BatchEnd::Stopped { by } => {
            let by = match by {
                StoppedBy::User => "stopped by user",
                StoppedBy::Interrupt => "interrupted",
                StoppedBy::Terminate => "terminated",
                StoppedBy::HangUp => "stopped: the terminal is gone",
                StoppedBy::Budget => "stopped: the budget is used up",
            };
            (Tone::Warning, format!("{by}: {count}"))
        }
    };
    EventLine { tone, text }
}

fn tone_of(end: &JobEnd) -> Tone {
    match end {
        end if end.is_done() => Tone::Good,
        JobEnd::Over { .. } | JobEnd::Refused { .. } | JobEnd::Crashed | JobEnd::Engine { .. } => Tone::Warning,
    }
}

fn job_end_in_words(end: &JobEnd) -> String {
    match end {
        JobEnd::Over { reason } => stop_in_words(reason),
        JobEnd::Refused { said, .. } if !said.is_empty() => format!("did not run: {said}"),
        JobEnd::Refused { code: Some(code), .. } => format!("did not run: exit code {code}"),
        JobEnd::Refused { code: None, .. } => "did not run".to_owned(),
        JobEnd::Crashed => "its process was killed".to_owned(),
        JobEnd::Engine { engine, end } => engine_end_in_words(engine, end),
    }
}

fn engine_end_in_words(engine: &str, end: &EngineEnd) -> String {
    match end {
        EngineEnd::NotSubmitted { why } => format!("not submitted: {engine} {why}"),
        EngineEnd::NotStarted { state } => {
            format!("did not run: {engine} reports {state}, and its script never began")
        }
        EngineEnd::Withdrawn => "its job was withdrawn before it began".to_owned(),
        EngineEnd::CutOff { state, .. } => format!("cut off by {engine} ({state})"),
        EngineEnd::Cancelled { state } => format!("its job was cancelled at {engine} ({state})"),
        EngineEnd::Forgotten => format!("{engine} no longer knows its job, which never began"),
        EngineEnd::Vanished { state } => {
            format!("its run ended without a result, though {engine} reports {state}")
        }
    }
}

/// Why a plan was not merged, as a clause.
pub fn kept_in_words(why: &KeptReason) -> String {
    match why {
        KeptReason::NotDone { end } => job_end_in_words(end),
        KeptReason::Closed { request } => format!("its pull request {} was closed", request.url),
        KeptReason::NotMerged { trouble } if trouble.is_of_request() => {
            format!("{}, and its rounds are used up", trouble_in_words(trouble))
        }
        KeptReason::NotMerged { trouble } => format!(
            "{}, after {}",
            trouble_in_words(trouble),
            counted(u64::from(TASKS_GIVEN), "task")
        ),
        KeptReason::Failed { why } => why.clone(),
        KeptReason::TargetInUse { why } => format!("the target cannot be moved: {why}"),
        KeptReason::Waits { dependency } => format!("`{dependency}` was not merged"),
        KeptReason::Cancelled => "cancelled".to_owned(),
    }
}

/// Why a branch cannot be merged, as a clause.
pub fn trouble_in_words(trouble: &MergeTrouble) -> String {
    match trouble {
        MergeTrouble::Conflict { files } => format!("conflicts with the target in {}", listed(files)),
        MergeTrouble::Markers { files } => format!("conflicts are not resolved in {}", listed(files)),
        MergeTrouble::Checks { failed } => checks_in_words(failed),
        MergeTrouble::Comments { threads } => threads_in_words(threads),
        MergeTrouble::Goals { .. } => "the goals fail on the merged tree".to_owned(),
        MergeTrouble::Tests { troubles } => {
            let first = troubles.first().map(test_trouble_in_words).unwrap_or_default();
            match troubles.len().saturating_sub(1) {
                0 => first,
                more => format!("{first}; and {}", counted(more as u64, "more reason")),
            }
        }
    }
}

/// The state of the merge queue while it waits for a repair, as a clause about the plan that is repaired.
pub fn repair_in_words() -> &'static str {
    "other merges wait for its repair"
}

/// Why no run may start at `now_ms`.
pub fn held_in_words(held: &StartHold, now_ms: u64) -> String {
    let time = short_duration(held.until_ms.saturating_sub(now_ms));
    match &held.why {
        HoldReason::AdapterLimited { adapter } => {
            format!("no run starts for {time}: {adapter} is limited, for all plans")
        }
        HoldReason::CallsUsedUp => format!("no run starts for {time}: the calls of this hour are used up"),
    }
}

/// `2 plans added: api, ui; 4 plans at a time; paused: no run starts`.
fn changes_to_batch_in_words(changes: &BatchChanges) -> String {
    let added: Vec<&str> = changes.added.iter().map(|plan| plan.name.0.as_str()).collect();
    let count = counted(added.len() as u64, "plan");
    let parts = [
        (!added.is_empty()).then(|| format!("{count} added: {}", added.join(", "))),
        changes
            .jobs
            .map(|jobs| format!("{} at a time", counted(u64::from(jobs), "plan"))),
        changes.limits.as_ref().map(|limits| {
            let limits = batch_usage_in_words(limits, &Usage::default());
            match limits.is_empty() {
                true => "no limits".to_owned(),
                false => format!("new limits: {}", limits.join(", ")),
            }
        }),
        changes.paused.map(|paused| match paused {
            true => "paused: no run starts, and running ones pause after their iteration".to_owned(),
            false => "going on".to_owned(),
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join("; ")
}

/// The batch limit that is reached, as a clause.
pub fn budget_in_words(limit: BatchLimit) -> String {
    format!("the plans have reached their {} limit", limit_word(limit.kind()))
}

/// The usage of a batch's limits, each by itself.
pub fn batch_usage_in_words(limits: &BatchLimits, usage: &Usage) -> Vec<String> {
    #[allow(clippy::cast_precision_loss)] // Such large counts do not occur.
    let tokens = limits.max_tokens.map(|max| max as f64);
    let spent = [(LimitUnit::Dollars, limits.max_cost_usd), (LimitUnit::Tokens, tokens)];
    let spent = spent
        .into_iter()
        .filter_map(|(unit, max)| spending_in_words("all plans", unit, usage, max?));
    let calls = limits.calls_per_hour;
    let calls = calls.map(|calls| format!("all plans {} an hour", counted(u64::from(calls), "call")));
    spent.chain(calls).collect()
}

fn target_in_use_in_words(why: &str) -> String {
    format!("waits until the target can be moved: {why}")
}

/// The state of a plan, in a few words.
pub fn plan_phase_in_words(plan: &BatchPlan) -> String {
    if let Some(why) = &plan.target_in_use {
        return target_in_use_in_words(why);
    }
    if let Some(why) = &plan.forge_silent {
        return forge_silent_in_words(why);
    }
    match &plan.phase {
        PlanPhase::Waiting if plan.after.is_empty() => "waiting for its turn".to_owned(),
        PlanPhase::Waiting => {
            format!("waiting for {}", listed_plans(&plan.after))
        }
        PlanPhase::Preparing => "creating its work tree".to_owned(),
        PlanPhase::Ready => "waiting to run again".to_owned(),
        PlanPhase::Running => match &plan.job {
            Some(EngineJob {
                began: false,
                id: Some(id),
                ..
            }) => format!("queued as job {id}"),
            Some(EngineJob {
                began: false, id: None, ..
            }) => "queued".to_owned(),
            Some(EngineJob { began: true, .. }) | None => "running".to_owned(),
        },
        PlanPhase::Finished => "done, waiting for the merge".to_owned(),
        PlanPhase::Merging => "merging".to_owned(),
        PlanPhase::Verifying { .. } => "merged; verifying goals".to_owned(),
        PlanPhase::Moving { .. } => "verified; moving the target".to_owned(),
        PlanPhase::Repairing => "adding a task to resolve the merge".to_owned(),
        PlanPhase::Delivering => "verified; bringing it to the remote".to_owned(),
        PlanPhase::Delivered => delivered_state_in_words(plan),
        PlanPhase::Merged { commit } => {
            let proof = plan.merge_proof.as_ref().map(|merge| merge.proof);
            format!("merged ({})", merge_in_words(commit, proof))
        }
        PlanPhase::Kept { why } => format!("not merged: {}", kept_in_words(why)),
    }
}

/// ` (verified)`, if the proof of a merge is known.
fn proof_of_merge(plan: &BatchPlan) -> String {
    let proof = plan.merge_proof.as_ref();
    proof.map_or_else(String::new, |merge| format!(" ({})", proof_word(merge.proof)))
}

/// The state of a plan, marked as cut off if the batch was killed: nothing goes on in it then.
pub fn plan_state_in_words(plan: &BatchPlan, batch: &Batch, is_running: bool) -> String {
    let phase = match batch.merged_with(&plan.name) {
        Some(first) => format!("done, being merged together with {first}"),
        None => plan_phase_in_words(plan),
    };
    match is_running || batch.end.is_some() || batch.task_for(plan).is_none() {
        true => phase,
        false => format!("interrupted: {phase}"),
    }
}

/// `08671fb2af, passed`: the commit of a merge, and what has shown that it is good.
pub fn merge_in_words(commit: &str, proof: Option<Proof>) -> String {
    match proof {
        Some(proof) => format!("{}, {}", short(commit), proof_word(proof)),
        None => short(commit).to_owned(),
    }
}

/// Describes the conflict in a file, given whether the file exists in the base, in the plan's branch and in the target.
pub fn conflict_in_words(path: &str, [base, branch, target_has]: [bool; 3], target: &str) -> String {
    let file = files_in_code(&[path.to_owned()]);
    match (base, branch, target_has) {
        (true, true, true) => format!("{file}: both changed it"),
        (false, true, true) => format!("{file}: both added it"),
        (true, true, false) => format!("{file}: changed here, deleted by `{target}`"),
        (true, false, true) => format!("{file}: deleted here, changed by `{target}`"),
        (_, true, false) => format!("{file}: only here, since one side renamed or replaced it"),
        (_, false, true) => format!("{file}: only in `{target}`, since one side renamed or replaced it"),
        (_, false, false) => format!("{file}: renamed or deleted by both"),
    }
}

/// Why a branch that contains a nested repository is not merged.
pub fn repository_within(path: &str, tree: &Path) -> String {
    let path = path.replace(['`', '\n'], "?");
    format!(
        "`{path}` in {} is a git repository of its own, and a merge would keep its name and not its files: remove `{path}/.git` and \
         commit the files, or move it elsewhere, then type `ralph many resume`",
        tree.display()
    )
}

/// The message that the target was moved and lacks merges of the batch. `latest` is a commit with all merges, if there
/// is one.
pub fn target_lost(target: &str, latest: Option<&str>) -> String {
    let what = format!("`{target}` was moved, and lacks merges of this batch");
    match latest {
        Some(latest) => {
            format!("{what}: `git branch --force {target} {latest}` restores it, then `ralph many resume` continues")
        }
        None => format!("{what}, which no single commit contains: `ralph many status` lists them"),
    }
}

/// The task added to a plan because of a merge, on one line. `conflicts` describes the conflict in each file; `attempt`
/// is a number that no earlier task of the plan has.
pub fn trouble_task(trouble: &MergeTrouble, conflicts: &[String], target: &str, attempt: u32) -> String {
    let listed_conflicts = || match conflicts.is_empty() {
        true => String::new(),
        false => format!(" ({})", listed(conflicts)),
    };
    let sides = format!(
        "`git show HEAD:FILE` prints the version of this branch and `git show {target}:FILE` the other. A file that is right as one \
         side has it is named in the commit message"
    );
    let what = match trouble {
        MergeTrouble::Conflict { files } => format!(
            "`{target}` was merged into this branch, and both changed the same places: resolve the conflicts in {}{}, so that the \
             work of both is kept and no conflict marker is left, and commit. {sides}",
            files_in_code(files),
            listed_conflicts()
        ),
        MergeTrouble::Markers { files } => format!(
            "The merge of `{target}` is not resolved in {}{}: conflict markers are left, or the file is as one side has it and no \
             commit message names it. Keep the work of both sides, and commit. {sides}",
            files_in_code(files),
            listed_conflicts()
        ),
        MergeTrouble::Goals { output } => {
            let output: Vec<&str> = output.split_whitespace().collect();
            let output = output.join(" ").replace('`', "'");
            let skipped = output.chars().count().saturating_sub(OUTPUT_CHARACTERS);
            let end: String = output.chars().skip(skipped).collect();
            format!(
                "`{target}` was merged into this branch, and goals fail on the two together that passed before: make them pass \
                 without taking back the work of either; they printed: `{end}`"
            )
        }
        MergeTrouble::Checks { failed } => return checks_task(failed, attempt),
        MergeTrouble::Comments { threads } => return threads_task(threads, attempt),
        MergeTrouble::Tests { troubles } => tests_task(troubles, target),
    };
    format!("Merge, attempt {attempt}: {what}")
}

/// The message of the commit that merges plans into the target; each with its file and its branch.
pub fn target_merge_message(plans: &[(&PlanName, &str, &str)]) -> String {
    let names: Vec<&str> = plans.iter().map(|(name, ..)| name.0.as_str()).collect();
    let mut message = match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("Merge plans {} and {last}\n\n", first.join(", ")),
        Some((only, _)) => format!("Merge plan {only}\n\n"),
        None => String::new(),
    };
    for (_, file, branch) in plans {
        message += &format!("Plan: {file}\nBranch: {branch}\n");
    }
    message
}

/// The message of the commit of changes that the agent left uncommitted.
pub fn plan_commit_message(plan: &PlanName) -> String {
    format!("Work of plan {plan}")
}

/// The message of the commit that merges the target into a plan's branch.
pub fn target_commit_message(target: &str, plan: &PlanName) -> String {
    format!("Merge {target} into plan {plan}")
}

/// The names of a plan and of those that are merged with it.
pub fn merged_plans_in_words(plan: &PlanName, with: &[PlanName]) -> String {
    let names = [plan].into_iter().chain(with).cloned();
    listed_plans(&names.collect::<Vec<_>>())
}

fn listed_plans(plans: &[PlanName]) -> String {
    let names: Vec<&str> = plans.iter().map(|name| name.0.as_str()).collect();
    names.join(", ")
}

fn files_in_code(files: &[String]) -> String {
    let quoted: Vec<String> = files
        .iter()
        .map(|file| format!("`{}`", file.replace(['`', '\n'], "?")))
        .collect();
    listed(&quoted)
}

/// Most replaced objects that are named.
const REPLACED: usize = 8;

/// Describes a change to the repository from outside the batch, with the command that reverts it.
pub fn repository_change_in_words(change: &RepositoryChange) -> String {
    let unless = "unless that was you";
    match change {
        RepositoryChange::Reference { name, from, to } => {
            let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
            let from_digits = short(from);
            match to {
                Some(to) => format!(
                    "`{branch}` was moved from {from_digits} to {}, and not by this batch: {unless}, `git update-ref {name} {from} {to}` \
                     puts it back",
                    short(to)
                ),
                None => format!(
                    "`{branch}` was deleted, and not by this batch: {unless}, `git update-ref {name} {from}` restores it"
                ),
            }
        }
        RepositoryChange::Replaced { objects } => {
            let named: Vec<&str> = objects.iter().take(REPLACED).map(String::as_str).collect();
            let back = match objects.len() > REPLACED {
                true => "git replace --list".to_owned(),
                false => format!("git replace -d {}", named.join(" ")),
            };
            let does = match objects.len() > REPLACED {
                true => "lists them, and `git replace -d OBJECT` takes one back",
                false => "takes that back",
            };
            format!(
                "`git replace` shows other content for {}, in git but not in a clone or a push, and not by this batch, which goes by the \
                 original: {unless}, `{back}` {does}",
                counted(objects.len() as u64, "object"),
            )
        }
        RepositoryChange::Config { keys, file, copy } => format!(
            "git's settings were changed ({}), and not by this batch: {unless}, `cp '{copy}' '{file}'` puts them back",
            listed(keys)
        ),
    }
}

/// The command that shows the unmerged commits of a plan.
pub fn log_command(batch: &Batch, id: &BatchId, plan: &PlanName) -> String {
    format!("git log {}..{}", batch.target, id.branch(plan))
}

/// The hint for a plan that waits for its user; `None` for other plans.
pub fn user_hint(plan: &BatchPlan) -> Option<String> {
    let (tree, name) = (&plan.tree, &plan.name);
    if tree.is_empty() {
        return None;
    }
    if plan.is_unconfirmed() {
        return Some(format!(
            "`cd '{tree}' && ralph confirm` shows the tests that {name} changed and asks for your answer; if the batch is over then, `ralph many resume` merges it"
        ));
    }
    plan.is_question().then(|| {
        format!(
            "`cd '{tree}' && ralph steer \"YOUR ANSWER\"` answers {name}; then `ralph many resume` continues it, or `ralph many resume {name}` without an answer"
        )
    })
}

/// The command that brings merged plans from ralph's own branch into the user's; `None` if there is nothing to bring, or
/// the target is a branch that the user has named.
pub fn merge_hint(batch: &Batch) -> Option<String> {
    let has_merged = batch
        .plans
        .iter()
        .any(|plan| matches!(plan.phase, PlanPhase::Merged { .. }));
    (has_merged && batch.target == batch.id.target() && batch.delivery.is_none())
        .then(|| format!("`git merge {}` brings the merged plans into your branch", batch.target))
}

/// Next commands for a batch that ended without all plans merged.
pub fn batch_hints(batch: &Batch, id: &BatchId) -> Vec<String> {
    let kept = batch
        .plans
        .iter()
        .filter(|plan| matches!(plan.phase, PlanPhase::Kept { .. }) && plan.work_tree != WorkTree::None);
    let kept = kept.map(|plan| format!("`{}` shows what {} did", log_command(batch, id, &plan.name), plan.name));
    let resume = match batch.spent {
        None => "run `ralph many resume` to continue the unmerged plans".to_owned(),
        Some(limit) => format!(
            "`ralph many resume {}` continues with a larger budget",
            raise_option(limit.kind())
        ),
    };
    // A pull request that people closed is not opened again, and a plan that waits for its user does not continue by itself.
    let is_over = |plan: &BatchPlan| {
        let is_closed = matches!(
            plan.phase,
            PlanPhase::Kept {
                why: KeptReason::Closed { .. }
            }
        );
        is_closed || matches!(plan.phase, PlanPhase::Merged { .. }) || user_hint(plan).is_some()
    };
    let resume = (!batch.plans.iter().all(is_over)).then_some(resume);
    let waiting = batch.plans.iter().filter_map(user_hint);
    waiting.chain(kept).chain(resume).collect()
}

/// The state of a plan without an active run; `stops` means that the plan is being ended.
pub fn plan_phase_word(plan: &BatchPlan, stops: bool) -> (Tone, &'static str) {
    match &plan.phase {
        PlanPhase::Merged { .. } => (Tone::Good, "merged"),
        PlanPhase::Kept {
            why: KeptReason::Cancelled,
        } => (Tone::Note, "cancelled"),
        PlanPhase::Kept { .. } => (Tone::Bad, "not merged"),
        _ if stops => (Tone::Wait, "stopping"),
        _ if plan.target_in_use.is_some() || plan.forge_silent.is_some() => (Tone::Wait, "waiting"),
        PlanPhase::Waiting | PlanPhase::Ready => (Tone::Note, "waiting"),
        PlanPhase::Preparing | PlanPhase::Running => (Tone::Start, "starting"),
        PlanPhase::Finished => (Tone::Wait, "done"),
        PlanPhase::Merging | PlanPhase::Moving { .. } => (Tone::Start, "merging"),
        PlanPhase::Verifying { .. } => (Tone::Start, "verifying"),
        PlanPhase::Repairing if plan.trouble.as_ref().is_some_and(MergeTrouble::is_of_request) => {
            (Tone::Warning, "changes asked")
        }
        PlanPhase::Repairing => (Tone::Warning, "conflict"),
        PlanPhase::Delivering => (Tone::Start, "delivering"),
        PlanPhase::Delivered if plan.is_watched() => (Tone::Wait, "in review"),
        PlanPhase::Delivered => (Tone::Good, "pushed"),
    }
}
