//! Brings verified work to the remote, and watches its pull request there.
//!
//! Each step looks for its own result before it acts: a branch that is at the commit, a pull request with ralph's mark, an
//! answer with the same words. So a step that a kill has cut off is done again, and nothing is there twice.
//!
//! A push and a request to the forge use the user's keys. Neither reads anything that an agent can write but the objects
//! of the repository.

use std::collections::BTreeSet;

use ralph_core::{
    event::{ConfirmedBy, Usage},
    run::{GoalState, RunView},
};
use ralph_forge::{
    CheckState, FailedRun, Forge, ForgeError, ForgeRepository, RequestFacts, RequestState, Retry, Reviewed,
    issue_reference, marker, request_body, request_title, thread_answer,
};
use ralph_git::{MoveResult, RemoteError, RemoteRepository, fast_forward};
use ralph_plan::{
    PlanKind,
    batch::{
        Batch, BatchPlan, DeliveredWork, Delivery, DeliveryKind, FailedCheck, KeptFiles, MergeTrouble, PlanPhase,
        PullRequest, ReviewThread, TaskResult,
    },
    parse_bytes,
};
use ralph_system::files::{self, PLAN_CAP_BYTES};
use ralph_text::with_causes;
use ralph_ui::report::RunReport;
use ralph_words::{counted, proof_word, tests_in_words, usage_in_words};

use super::worker::{Site, TaskFailure, git_failure, job_state, job_views};

/// Digits of a commit in an answer.
const DIGITS: usize = 10;

/// Why something was not delivered.
enum DeliveryFailure {
    /// A failure that may pass; the time is the one that the forge named.
    Passing {
        why: String,
        after_ms: Option<u64>,
    },
    Final(TaskFailure),
}

/// The result of a look at a pull request.
pub(super) enum RequestLook {
    /// The branch needs no git command.
    Found(TaskResult),
    Merged {
        commit: String,
    },
    Conflict,
}

impl From<ForgeError> for DeliveryFailure {
    fn from(error: ForgeError) -> DeliveryFailure {
        let why = error.to_string();
        match error.retry() {
            Some(Retry::Later) => DeliveryFailure::Passing { why, after_ms: None },
            Some(Retry::AfterMs(after_ms)) => DeliveryFailure::Passing {
                why,
                after_ms: Some(after_ms),
            },
            None => DeliveryFailure::Final(match error.hint() {
                Some(hint) => format!("{why}: `{hint}`, then `ralph many resume`"),
                None => why,
            }),
        }
    }
}

impl From<RemoteError> for DeliveryFailure {
    fn from(error: RemoteError) -> DeliveryFailure {
        let why = with_causes(&error);
        match error.is_passing() {
            true => DeliveryFailure::Passing { why, after_ms: None },
            false => DeliveryFailure::Final(why),
        }
    }
}

impl From<TaskFailure> for DeliveryFailure {
    fn from(why: TaskFailure) -> DeliveryFailure {
        DeliveryFailure::Final(why)
    }
}

/// Pushes the verified work of a plan, and opens or updates its pull request.
///
/// # Errors
/// In words, why the work cannot be delivered. It stays on its branch.
pub(super) fn deliver(site: &Site, batch: &Batch, plan: &BatchPlan) -> Result<TaskResult, TaskFailure> {
    settled(delivered(site, batch, plan))
}

fn delivered(site: &Site, batch: &Batch, plan: &BatchPlan) -> Result<TaskResult, DeliveryFailure> {
    let delivery = delivery_of(batch)?;
    let onto = site.tip(&batch.target)?;
    if let Some(refused) = site.unresolved(plan, &onto)? {
        return Ok(refused);
    }
    let branch = site.committed_branch(batch, plan, &onto)?;
    let commit = site.tip(&branch)?;
    if site.branches.is_ancestor(&commit, &onto).map_err(git_failure)? {
        return Err("its run changed nothing, so there is nothing to deliver"
            .to_owned()
            .into());
    }
    let known = plan.delivered.as_ref();
    let remote = remote_of(site, delivery)?;
    remote.push(&commit, &branch, known.map(|work| work.commit.as_str()))?;
    if delivery.kind == DeliveryKind::Branch {
        return Ok(TaskResult::Delivered { commit, request: None });
    }
    let forge = forge_of(site, delivery)?;
    let (batch_id, name) = (batch.id.to_string(), plan.name.to_string());
    let text = request_body(&facts(site, batch, plan));
    let request = match forge.find_request(&branch, &marker(&batch_id, &name))? {
        Some(found) => {
            if found.body.trim() != text.trim() {
                forge.update_request(found.number, &text)?;
            }
            found
        }
        None => forge.open_request(&branch, &delivery.base, &title(site, plan), &text)?,
    };
    if let Some(MergeTrouble::Comments { threads }) = &plan.trouble
        && known.is_some_and(|work| work.commit != commit)
    {
        let short = commit.get(..DIGITS).unwrap_or(&commit);
        for thread in threads {
            forge.answer_thread(&thread.id, &thread_answer(&thread.id, short))?;
        }
    }
    Ok(TaskResult::Delivered {
        commit,
        request: Some(PullRequest {
            number: request.number,
            url: request.url,
        }),
    })
}

/// Looks at the pull request of a plan.
///
/// # Errors
/// In words, why it is not watched any more.
pub(super) fn look(site: &Site, batch: &Batch, plan: &BatchPlan) -> Result<RequestLook, TaskFailure> {
    let Some(DeliveredWork {
        commit,
        request: Some(request),
    }) = &plan.delivered
    else {
        return Err("it has no pull request".to_owned());
    };
    let found = looked(site, batch, (plan, commit, request));
    match found {
        Ok(found) => Ok(found),
        Err(failure) => settled(Err(failure)).map(RequestLook::Found),
    }
}

fn looked(
    site: &Site,
    batch: &Batch,
    (plan, commit, request): (&BatchPlan, &str, &PullRequest),
) -> Result<RequestLook, DeliveryFailure> {
    let forge = forge_of(site, delivery_of(batch)?)?;
    let state = forge.state(request.number)?;
    match state.reviewed {
        Reviewed::Merged { commit } => return Ok(RequestLook::Merged { commit }),
        Reviewed::Closed => {
            let request = request.clone();
            return Ok(RequestLook::Found(TaskResult::RequestClosed { request }));
        }
        Reviewed::Open => {}
    }
    if state.head != commit {
        // The forge takes a moment to notice a push.
        return match site.branches.is_ancestor(&state.head, commit) {
            Ok(true) => Ok(RequestLook::Found(TaskResult::RequestUnchanged)),
            Ok(false) | Err(_) => Err(format!(
                "somebody else has pushed to `{}`; ralph leaves {} alone. `git fetch` brings their commits, and `ralph many resume` goes on once \
                 the branch is at the commit that ralph pushed",
                batch.id.branch(&plan.name),
                request.url
            )
            .into()),
        };
    }
    if state.is_in_conflict {
        return Ok(RequestLook::Conflict);
    }
    Ok(RequestLook::Found(match asked_for(&forge, state)? {
        Some(trouble) => TaskResult::MergeRefused {
            trouble,
            onto: batch.target_commit.clone(),
            branch: commit.to_owned(),
        },
        None => TaskResult::RequestUnchanged,
    }))
}

/// Returns the tasks that a pull request asks for.
fn asked_for(forge: &Forge, state: RequestState) -> Result<Option<MergeTrouble>, ForgeError> {
    if let CheckState::Failed(runs) = state.checks {
        let failed: Result<Vec<FailedCheck>, ForgeError> = runs.into_iter().map(|run| with_log(forge, run)).collect();
        return Ok(Some(MergeTrouble::Checks { failed: failed? }));
    }
    let threads: Vec<ReviewThread> = state
        .threads
        .into_iter()
        .map(|thread| ReviewThread {
            id: thread.id,
            place: thread.place,
            text: thread.text,
        })
        .collect();
    Ok((!threads.is_empty()).then_some(MergeTrouble::Comments { threads }))
}

/// Returns a failed check with the end of its log; with what it says of itself if there is no log.
fn with_log(forge: &Forge, run: FailedRun) -> Result<FailedCheck, ForgeError> {
    let log = match run.job.map(|job| forge.log_end(job)) {
        Some(Ok(log)) if !log.is_empty() => log,
        // It has to be asked again: without its log, the agent would guess.
        Some(Err(error)) if error.retry().is_some() => return Err(error),
        Some(Ok(_) | Err(_)) | None => run.said,
    };
    Ok(FailedCheck { name: run.name, log })
}

/// Does with git what a look has found.
///
/// # Errors
/// In words, why it cannot be done.
pub(super) fn follow(
    site: &Site,
    batch: &Batch,
    plan: &BatchPlan,
    found: RequestLook,
) -> Result<TaskResult, TaskFailure> {
    let followed = || -> Result<TaskResult, DeliveryFailure> {
        match found {
            RequestLook::Found(result) => Ok(result),
            RequestLook::Merged { commit } => {
                update_target(site, batch)?;
                let target = site.tip(&batch.target)?;
                match site.branches.is_ancestor(&commit, &target) {
                    Ok(true) => Ok(TaskResult::RequestMerged { commit }),
                    Ok(false) | Err(_) => Err(DeliveryFailure::Passing {
                        why: "the merge is not on the remote's branch yet".to_owned(),
                        after_ms: None,
                    }),
                }
            }
            RequestLook::Conflict => {
                update_target(site, batch)?;
                Ok(match site.merge(batch, plan)? {
                    TaskResult::MergeRefused { trouble, onto, branch } => {
                        TaskResult::MergeRefused { trouble, onto, branch }
                    }
                    // The forge has not noticed yet that the conflict is resolved.
                    _ => TaskResult::RequestUnchanged,
                })
            }
        }
    };
    settled(followed())
}

/// Moves the batch's own target to where the remote's branch is.
fn update_target(site: &Site, batch: &Batch) -> Result<(), DeliveryFailure> {
    let delivery = delivery_of(batch)?;
    let commit = remote_of(site, delivery)?.fetch(&delivery.base)?;
    let tip = site.tip(&batch.target)?;
    if tip == commit {
        return Ok(());
    }
    let is_ahead = site.branches.is_ancestor(&tip, &commit).map_err(git_failure)?;
    let moved = is_ahead.then(|| fast_forward(&site.branches, &batch.target, &tip, &commit));
    match moved.transpose().map_err(git_failure)? {
        Some(MoveResult::Done) => Ok(()),
        Some(MoveResult::InUse { why }) => Err(why.into()),
        Some(MoveResult::HadMoved) | None => Err(format!(
            "`{}` on the remote was rewritten, or `{}` was moved here",
            delivery.base, batch.target
        )
        .into()),
    }
}

/// Removes the work tree of a plan whose work the remote has; its branch as well once that is merged.
///
/// # Errors
/// In words, why something cannot be removed.
pub(super) fn remove_tree(site: &Site, batch: &Batch, plan: &BatchPlan) -> Result<TaskResult, TaskFailure> {
    let (branch, tree) = (batch.id.branch(&plan.name), site.paths.tree(&plan.name));
    let kept = |why: String| Ok(TaskResult::WorkTreeKept { why });
    let tip = site.branches.tip(&branch).map_err(git_failure)?;
    if let (Some(tip), Some(work)) = (&tip, &plan.delivered)
        && *tip != work.commit
    {
        return kept(format!("`{branch}` has commits that ralph did not push"));
    }
    let mut ignored: Option<KeptFiles> = None;
    if site.branches.has_tree(&tree).map_err(git_failure)? {
        if !site.branches.is_clean(&tree, true).map_err(git_failure)? {
            return kept(format!("{} has changes since", tree.display()));
        }
        site.tear_down(batch, plan)?;
        ignored = site.keep_ignored(&tree, plan)?;
    }
    site.branches.remove_tree(&tree).map_err(git_failure)?;
    if let (PlanPhase::Merged { .. }, Some(tip)) = (&plan.phase, tip) {
        site.branches.delete(&branch, &tip).map_err(git_failure)?;
    }
    Ok(TaskResult::WorkTreeRemoved { kept: ignored })
}

/// A failure that may pass is no failure of the plan.
fn settled(found: Result<TaskResult, DeliveryFailure>) -> Result<TaskResult, TaskFailure> {
    match found {
        Ok(result) => Ok(result),
        Err(DeliveryFailure::Passing { why, after_ms }) => Ok(TaskResult::ForgeSilent { why, after_ms }),
        Err(DeliveryFailure::Final(why)) => Err(why),
    }
}

fn delivery_of(batch: &Batch) -> Result<&Delivery, TaskFailure> {
    batch
        .delivery
        .as_ref()
        .ok_or_else(|| "the batch delivers nothing".to_owned())
}

fn remote_of(site: &Site, delivery: &Delivery) -> Result<RemoteRepository, TaskFailure> {
    let directory = site.project.state().join(REMOTE);
    RemoteRepository::open(&site.branches, &directory, &delivery.remote, &site.supervisor).map_err(git_failure)
}

/// The repository for pushes in the state of a project.
pub const REMOTE: &str = "remote.git";

fn forge_of(site: &Site, delivery: &Delivery) -> Result<Forge, TaskFailure> {
    let repository = ForgeRepository::parse(&delivery.remote).map_err(|error| error.to_string())?;
    let directory = site.project.state().to_owned();
    let root = site.branches.root().to_owned();
    Ok(Forge::new(repository, directory, root, site.supervisor.clone()))
}

/// The title for the pull request of a plan: that of the user's version, which no agent has edited.
fn title(site: &Site, plan: &BatchPlan) -> String {
    let text = files::read_bytes(&site.project.project().join(&plan.file), PLAN_CAP_BYTES).unwrap_or_default();
    request_title(&String::from_utf8_lossy(&text), &plan.name.0)
}

/// The facts of the text of a pull request.
fn facts(site: &Site, batch: &Batch, plan: &BatchPlan) -> RequestFacts {
    let views = job_views(site, &plan.name);
    let last = views.last();
    let usage = views.iter().fold(Usage::default(), |sum, view| sum.plus(view.usage));
    let iterations: u32 = views.iter().map(|view| view.iterations.counted).sum();
    let (verified, unverified) = last.map(evidence).unwrap_or_default();
    let mut effort = vec![counted(u64::from(iterations), "iteration")];
    effort.extend(
        last.map(|view| view.adapter.clone())
            .filter(|adapter| !adapter.is_empty()),
    );
    effort.extend(usage_in_words(&usage));
    effort.extend(plan.proof.map(|proof| proof_word(proof).to_owned()));
    let rounds = (plan.rounds > 0).then(|| counted(u64::from(plan.rounds), "round"));
    effort.extend(rounds.map(|rounds| format!("{rounds} for checks and reviews")));
    let own = own_tasks(site, plan);
    let tasks = last.into_iter().flat_map(|view| view.plan.tasks.iter());
    let tasks = tasks.filter(|task| own.contains(&task.text));
    let report = job_state(site, &plan.name).ok().and_then(|state| {
        let run = last?.run.as_ref()?;
        ralph_review::report(&state, run, &site.supervisor).ok()
    });
    RequestFacts {
        first: report.iter().flat_map(RunReport::public_lines).collect(),
        plan: plan.name.to_string(),
        batch: batch.id.to_string(),
        closes: plan
            .issue
            .as_deref()
            .and_then(issue_reference)
            .map(|issue| issue.number),
        tasks: tasks.map(|task| (task.text.clone(), task.done)).collect(),
        verified,
        unverified,
        confirmed_tests: views.iter().flat_map(confirmed_tests).collect(),
        effort: effort.join(" · "),
    }
}

/// Returns the tasks of the plan as the user has it: others are of agents, or are prompts of ralph's with the end of a log.
fn own_tasks(site: &Site, plan: &BatchPlan) -> BTreeSet<String> {
    let path = site.project.project().join(&plan.file);
    let bytes = files::read_bytes(&path, PLAN_CAP_BYTES).unwrap_or_default();
    let own = parse_bytes(PlanKind::from_path(&path), &bytes).unwrap_or_default();
    own.tasks.into_iter().map(|task| task.text).collect()
}

/// Describes what verified the end of a run, and what did not.
fn evidence(view: &RunView) -> (Vec<String>, Vec<String>) {
    let (mut verified, mut unverified) = (Vec::new(), Vec::new());
    for goal in &view.goals {
        let name = &goal.name;
        match &goal.state {
            GoalState::Checked { result } if result.passed => {
                let tests = result.tests.as_ref().map(tests_in_words);
                let what = tests.unwrap_or_else(|| "passed; ralph counted no tests in it".to_owned());
                let forgiven = if result.is_forgiven() {
                    "; tests that failed before still fail"
                } else {
                    ""
                };
                verified.push(format!("goal {name}: {what}{forgiven}"));
            }
            GoalState::Checked { .. } => unverified.push(format!("goal {name} failed")),
            GoalState::Unknown | GoalState::Running => unverified.push(format!("goal {name} was not run")),
        }
    }
    (verified, unverified)
}

/// The changed tests that a person has confirmed in a run.
fn confirmed_tests(view: &RunView) -> Vec<String> {
    let by_person = view
        .changed_tests
        .confirmed
        .iter()
        .filter(|confirmed| matches!(confirmed.by, ConfirmedBy::User { .. }));
    by_person
        .flat_map(|confirmed| confirmed.changes.iter().map(|change| change.path.to_string()))
        .collect()
}
